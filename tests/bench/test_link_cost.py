"""What the links add to the collector's CPU: eight GPUs of 18 NVLinks, ten InfiniBand ports, once a second.

Run with ``pytest -m bench -s tests/bench/test_link_cost.py``; it prints the ratio, and the target.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from gputop.probes.collector.collector import Collector
from gputop.probes.sources.host.cgroup import CgroupSource
from gputop.probes.sources.host.numa import NumaSource
from gputop.probes.sources.host.source import HostSource
from gputop.probes.sources.nvml.driver import NvmlDriver
from gputop.probes.sources.processes.source import ProcessSource
from gputop.probes.sources.rdma.source import InfinibandSource
from gputop.probes.sources.topology.source import TopologySource
from gputop.probes.sources.watchlist import Watchlist
from gputop.probes.wire.codec import encode

from fixtures.pci_tree import PciTree, dgx
from fixtures.rdma_tree import RdmaTree
from nvml.simulated import SimulatedNvml

MOST = 0.25
PROCESSES = 16
TICKS = 25
WARM_UP = 4
ROUNDS = 2

pytestmark = pytest.mark.bench


def test_what_the_links_cost(tmp_path: Path) -> None:
    rdma, pci = RdmaTree(tmp_path), PciTree(tmp_path)
    _, cards = dgx(pci)
    for number in range(10):
        kind = "connectx7-ib" if number < 8 else "connectx7-roce"
        rdma.add(f"mlx5_{number}", kind, pci=cards[number % len(cards)])
    without, with_links = [], []
    with (
        SimulatedNvml("h100x8", {"gpu.*.nvlink.count": 0}) as bare,
        SimulatedNvml("h100x8") as node,
        ExitStack() as stack,
    ):
        for number in range(PROCESSES):
            process = subprocess.Popen(["sleep", "600"])
            stack.callback(process.wait)
            stack.callback(process.kill)
            for each in (bare, node):
                each.process(number % 8, 1 + number // 8, process.pid, memory="30GiB", sm=40)
        for _ in range(ROUNDS):
            without.append(_measured(bare.env(), None))
            with_links.append(_measured(node.env(), tmp_path))
    base, all_of_it = min(without), min(with_links)
    added = all_of_it / base - 1.0
    print(
        f"\ncollector, CPU a sample: {1e3 * base:.2f} ms without any NVLink, InfiniBand or topology, "
        f"{1e3 * all_of_it:.2f} ms with them: {100 * added:+.0f} % (target: below {100 * MOST:.0f} %)"
    )
    assert added < MOST


def _measured(env: dict[str, str], root: Path | None) -> float:
    """CPU seconds a sample, in a process of its own."""
    folder = str(Path(__file__).parents[1])
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from bench.test_link_cost import serve; serve()",
            str(root) if root else "",
        ],
        env={**env, "PYTHONPATH": folder},
        stdout=subprocess.PIPE,
        check=True,
        timeout=120,
    )
    return float(json.loads(done.stdout))


def serve() -> None:
    """The child's side."""
    watchlist = Watchlist()
    collector = Collector("node", interval_seconds=1.0)
    collector.add(NvmlDriver(collector.add, watchlist))
    collector.add(ProcessSource(watchlist))
    collector.add(CgroupSource(watchlist))
    collector.add(HostSource())
    if root := sys.argv[1]:
        collector.add(InfinibandSource(Path(root)))
        collector.add(TopologySource(Path(root)))
        collector.add(NumaSource(watchlist))
    began = 0.0
    for number, sample in enumerate(collector.samples()):
        encode(sample)
        if number == WARM_UP:
            assert not sys.argv[1] or len(sample.ports) == 10
            assert len(sample.gpus) == 8
            assert bool(sample.gpus[0].nvlinks) == bool(sys.argv[1])
            began = time.process_time()
        if number == WARM_UP + TICKS:
            break
    print(json.dumps((time.process_time() - began) / TICKS), flush=True)
    os._exit(0)
