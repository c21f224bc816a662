"""Where processes on GPUs run and have their memory, from made trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from gputop.probes.derive.frame import derive
from gputop.probes.model.gpu_readings import GpuProcessReading, GpuReading
from gputop.probes.model.link_readings import PlacementReading, TopologyReading
from gputop.probes.model.process_readings import ProcessReading
from gputop.probes.model.sample import Sample
from gputop.probes.model.topology_frames import PlacementFrame
from gputop.probes.sources.host.numa import NumaSource, cpu_ranges
from gputop.probes.sources.host.text import parse_numa_maps, parse_running_cpu
from gputop.probes.sources.protocol import SourceAbsent, SourceUnsupported
from gputop.probes.sources.watchlist import Watchlist

from fixtures.pci_tree import PciTree
from fixtures.proc_tree import ProcTree
from support.clock import Clock

MAPS = (
    "7f0000000000 default anon=300 dirty=300 N0=100 N1=200 kernelpagesize_kB=4\n"
    "7f1000000000 default file=/usr/lib/libtorch.so mapped=5 N1=5 kernelpagesize_kB=4\n"
    "7f2000000000 bind:1 anon=2 N1=2 kernelpagesize_kB=2048\n"
)
PAGE = 4096


class Host:
    """Two nodes of four CPUs, and the processes written into it."""

    def __init__(self, root: Path) -> None:
        self.proc = ProcTree(root)
        self.pci = PciTree(root)
        self.clock = Clock()
        self.watchlist = Watchlist()
        self.source = NumaSource(self.watchlist, root, self.clock)

    def process(self, pid: int, cpus: str = "0-7", running: int = 1, maps: str = MAPS) -> None:
        self.proc.process(pid, cpus=cpus)
        stat = self.proc.root / "proc" / str(pid) / "stat"
        head, _, tail = stat.read_text().rpartition(") ")
        words = tail.split()
        words[36] = str(running)
        stat.write_text(f"{head}) {' '.join(words)}\n")
        self.proc.write(f"proc/{pid}/numa_maps", maps)

    def read(self) -> dict[int, PlacementReading]:
        return {reading.pid: reading for reading in self.source.read()}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    made = Host(tmp_path)
    made.pci.node(0, "0-3")
    made.pci.node(1, "4-7")
    return made


def test_a_process(host: Host) -> None:
    host.process(50, cpus="0-3", running=2)
    host.watchlist.set_gpu(0, [50])
    placed = host.read()[50]
    assert (placed.cpus, placed.allowed_nodes, placed.running_node) == ("0-3", (0,), 0)
    assert placed.memory_bytes == {0: 100 * PAGE, 1: 205 * PAGE + 2 * 2048 * 1024}
    assert placed.missing == {}


def test_pages_are_counted_of_one_process_a_round(host: Host) -> None:
    for pid in (50, 51):
        host.process(pid)
    host.watchlist.set_gpu(0, [50, 51])
    first = host.read()
    assert (first[50].memory_bytes is None, first[51].memory_bytes is None) == (False, True)
    assert first[51].missing["memory_bytes"] == "not counted yet"
    host.clock.now += 5.0
    second = host.read()
    assert second[51].memory_bytes
    # And then not again for a long time.
    host.process(50, maps="7f default N0=1 kernelpagesize_kB=4\n")
    host.clock.now += 60.0
    assert host.read()[50].memory_bytes == first[50].memory_bytes
    host.clock.now += 600.0
    assert host.read()[50].memory_bytes == {0: PAGE}


def test_each_round_sees_who_is_there_and_where_it_runs_now(host: Host) -> None:
    host.process(50)
    host.watchlist.set_gpu(0, [50])
    assert host.read()[50].running_node == 0
    host.process(50, running=5)
    host.process(51)
    host.watchlist.set_gpu(1, [51])
    found = host.read()
    assert found.keys() == {50, 51}
    assert found[50].running_node == 1


def test_one_node_only(tmp_path: Path) -> None:
    made = Host(tmp_path)
    made.pci.node(0, "0-7")
    with pytest.raises(SourceUnsupported, match="one memory node only"):
        made.read()


def test_memory_without_cpus_is_no_place_to_run(tmp_path: Path) -> None:
    made = Host(tmp_path)
    made.pci.node(0, "0-7")
    made.pci.node(1, "")
    with pytest.raises(SourceUnsupported):
        made.read()


def test_no_nodes(tmp_path: Path) -> None:
    with pytest.raises(SourceAbsent):
        Host(tmp_path).read()


def test_a_process_that_has_ended_or_sleeps_hard(host: Host) -> None:
    host.proc.process(50, state="D")
    host.watchlist.set_gpu(0, [50, 51])
    placed = host.read()
    assert placed.keys() == {50}
    assert "uninterruptible sleep" in placed[50].missing["memory_bytes"]
    host.process(50)
    host.clock.now += 5.0
    assert host.read()[50].memory_bytes


@pytest.mark.parametrize(
    ("maps", "why"),
    [
        (None, "this kernel does not tell"),
        ("", "the kernel counts no pages of it"),
        ("rubbish N=1 Nx=2 N1=-5\n", "the kernel counts no pages of it"),
    ],
)
def test_pages_that_are_not_reported(host: Host, maps: str | None, why: str) -> None:
    host.process(50, maps=maps or "")
    if maps is None:
        (host.proc.root / "proc/50/numa_maps").unlink()
    host.watchlist.set_gpu(0, [50])
    placed = host.read()[50]
    assert (placed.memory_bytes, placed.missing["memory_bytes"]) == (None, why)


def test_texts() -> None:
    assert parse_numa_maps(b"7f default N0=1 N1=x\n7f default N0=2 kernelpagesize_kB=zz\n") == {
        0: 3 * PAGE
    }
    assert parse_running_cpu(b"1 (a) b) S 1 2") is None
    assert cpu_ranges(frozenset({0, 1, 2, 5, 7, 8})) == "0-2,5,7-8"
    assert cpu_ranges(frozenset()) == ""


# --- as it is drawn ---


def placed(*, gpu_node: int | None = 1, **fields: object) -> PlacementFrame:
    given: dict[str, object] = {
        "monotonic_seconds": 0.0,
        "pid": 50,
        "start_time_seconds": 5.0,
        "allowed_nodes": (0,),
        "running_node": 0,
        "memory_bytes": {0: 300, 1: 100},
    }
    reading = PlacementReading(**{**given, **fields})  # type: ignore[arg-type]
    on_gpu = GpuProcessReading(pid=50)
    process = ProcessReading(
        monotonic_seconds=0.0,
        pid=50,
        start_time_seconds=5.0,
        name="python",
        command=("python", "train.py"),
        environment={"RANK": "3", "LOCAL_RANK": "3", "WORLD_SIZE": "8"},
    )
    paths = GpuReading(
        index=3,
        monotonic_seconds=0.0,
        numa_node=gpu_node,
        processes=(on_gpu,),
        nvlinks=(),
        pci_bus_id="00000000:18:00.0",
    )
    sample = Sample(
        time_seconds=0.0,
        monotonic_seconds=2.0,
        sequence=0,
        node=f"numa {gpu_node}",
        gpus=(paths,),
        processes=(process,),
        placements=(reading,),
        topology=TopologyReading(monotonic_seconds=0.0),
    )
    (found,) = derive(None, sample).placements
    return found


def test_a_rank_on_the_wrong_node() -> None:
    found = placed()
    assert (found.rank, found.gpu_index, found.gpu_node) == (3, 3, 1)
    assert (found.may_run_near, found.runs_near, found.local_memory_ratio) == (False, False, 0.25)
    assert found.age_seconds == 2.0


def test_a_rank_on_a_gpu_without_a_node() -> None:
    found = placed(gpu_node=None)
    assert (found.may_run_near, found.runs_near, found.local_memory_ratio) == (None, None, None)
    assert found.missing["gpu_node"] == "the node of its GPU is not known"


def test_a_rank_that_may_run_anywhere() -> None:
    found = placed(allowed_nodes=(0, 1), running_node=1)
    assert (found.may_run_near, found.runs_near) == (True, True)
