"""Trees of files as the sources read them, and any number or text in the place of theirs."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

from gputop.probes.sources.host.cgroup import CgroupSource
from gputop.probes.sources.host.imex import ImexSource
from gputop.probes.sources.host.numa import NumaSource
from gputop.probes.sources.host.source import HostSource
from gputop.probes.sources.processes.source import ProcessSource
from gputop.probes.sources.processes.threads import ThreadSource
from gputop.probes.sources.protocol import Source
from gputop.probes.sources.rdma.source import InfinibandSource
from gputop.probes.sources.topology.source import TopologySource
from gputop.probes.sources.watchlist import Watchlist

from fixtures.pci_tree import PciTree, dgx
from fixtures.proc_tree import ProcTree
from fixtures.rdma_tree import KINDS, RdmaTree

WILD = (
    *(
        b"0",
        b"-1",
        b"1e308",
        b"nan",
        b"inf",
        b"-inf",
        b"0x7fffffffffffffff",
        b"1.5",
        b"",
        b"\0",
        b" ",
    ),
    *(str(number).encode() for number in (2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 10**30)),
    *(
        b"9" * 5000,
        b"max",
        b"\xff\xfe\xed",
        "\u0661\u0662".encode(),
        b"\x1b[31m",
        b"\n\n",
        b"a" * 100_000,
    ),
)
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")


def proc(root: Path) -> ProcTree:
    tree = ProcTree(root)
    tree.process(70, name="torchrun", command=["torchrun", "train.py"], children=[80])
    rank = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2"}
    tree.process(80, parent=70, environment=rank, cgroup="0::/job\n")
    return tree


def threads(root: Path) -> None:
    tree = proc(root)
    for name in ("stat", "status", "schedstat", "wchan"):
        for thread, comm in ((80, b"python"), (81, b"pt_autograd_0")):
            content = (root / f"proc/80/{name}").read_bytes().replace(b"python", comm)
            tree.write(f"proc/80/task/{thread}/{name}", content)
            tree.write(f"proc/80/task/{thread}/comm", comm + b"\n")


def numa(root: Path) -> None:
    tree = proc(root)
    pci = PciTree(root)
    pci.node(0, "0-3")
    pci.node(1, "4-7")
    maps = "7f0000000000 default anon=300 dirty=300 N0=100 N1=200 kernelpagesize_kB=4\n"
    tree.write("proc/80/numa_maps", maps)


def host(root: Path) -> None:
    tree = proc(root)
    tree.write("proc/stat", "cpu  100 0 50 800 40 0 5 5 30 0\ncpu0 1 2\nintr 1 2 3\n")
    tree.write("proc/loadavg", "1.50 2.25 3.00 3/112 8564\n")
    tree.write(
        "proc/meminfo",
        "MemTotal: 1000 kB\nMemAvailable: 600 kB\nSwapTotal: 10 kB\nSwapFree: 4 kB\n",
    )
    tree.write("proc/vmstat", "pswpin 3\npswpout 5\n")
    for name in ("cpu", "memory", "io"):
        tree.write(
            f"proc/pressure/{name}", "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\n"
        )
    tree.write("proc/diskstats", " 8 0 nvme0n1 5 0 8 1 3 0 16 2 0 1500 9 0 0 0 0 0 0\n")
    (root / "sys/block/nvme0n1/slaves").mkdir(parents=True)
    tree.write(
        "proc/net/dev", "Inter-|\n face |bytes\n  eth0: 1000 9 0 3 0 0 0 0 2000 9 0 1 0 0 0 0\n"
    )
    tree.write("proc/net/snmp", "Tcp: RtoAlgorithm OutSegs RetransSegs\nTcp: 1 900 12\n")
    tree.write("sys/class/net/eth0/device/vendor", "x")
    tree.write("sys/class/net/eth0/speed", "100000\n")
    tree.write("sys/class/net/eth0/operstate", "up\n")
    (root / "dev/shm").mkdir(parents=True)


def cgroups(root: Path) -> None:
    tree = proc(root)
    tree.write(
        "proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
    )
    for name, content in {
        "cgroup.type": "domain\n",
        "cpu.stat": "usage_usec 9\nnr_periods 5\nnr_throttled 3\nthrottled_usec 700\n",
        "cpu.max": "200000 100000\n",
        "memory.max": "8000\n",
        "memory.current": "5000\n",
        "memory.events": "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\n",
        "cpu.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
    }.items():
        tree.write(f"sys/fs/cgroup/job/{name}", content)


def rdma(root: Path) -> None:
    tree = RdmaTree(root)
    for number, kind in enumerate(KINDS):
        tree.add(f"mlx5_{number}", kind)


def topology(root: Path) -> None:
    dgx(PciTree(root))


def imex(root: Path) -> None:
    tree = ProcTree(root)
    tree.write("etc/nvidia-imex/nodes_config.cfg", "10.0.0.1\n10.0.0.2\n")
    tree.process(7, name="nvidia-imex")
    tree.write("proc/7/comm", "nvidia-imex\n")


def watchlist() -> Watchlist:
    watched = Watchlist()
    watched.set_gpu(0, (80,))
    watched.set_ranks({80: 50.0})
    return watched


SOURCES: dict[str, tuple[Callable[[Path], object], Callable[[Path], Source]]] = {
    "host": (host, HostSource),
    "processes": (proc, lambda root: ProcessSource(watchlist(), root)),
    "threads": (threads, lambda root: ThreadSource(watchlist(), root)),
    "cgroups": (cgroups, lambda root: CgroupSource(watchlist(), root)),
    "numa": (numa, lambda root: NumaSource(watchlist(), root)),
    "rdma": (rdma, InfinibandSource),
    "topology": (topology, TopologySource),
    "imex": (imex, ImexSource),
}


def made_wild(content: bytes, chance: random.Random) -> bytes:
    """With one of its numbers, all of them, or everything, in another form."""
    wild = chance.choice(WILD)
    numbers = list(_NUMBER.finditer(content))
    kind = chance.randrange(4)
    if kind == 0 or not numbers:
        return wild
    if kind == 1:
        return _NUMBER.sub(lambda _: wild, content)
    chosen = chance.choice(numbers)
    return content[: chosen.start()] + wild + content[chosen.end() :]
