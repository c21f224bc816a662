"""How many samples pass until a link that went down is seen to be down, and found."""

from __future__ import annotations

from pathlib import Path

import pytest

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.model.link_readings import PortReading
from gputop.probes.model.sample import Sample
from gputop.probes.sources.host.source import HostSource
from gputop.probes.sources.rdma.source import InfinibandSource
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine

from fixtures.proc_tree import ProcTree
from fixtures.rdma_tree import RdmaTree
from nvml.simulated import SimulatedNvml
from support.nvml_watch import Watch

MOST_SECONDS = 2
MOST_SECONDS_OF_OLD = 10
"""Drivers older than R510 must be asked for each link alone, so it waits for the next reading."""


class Judge:
    """Frames and findings out of what sources gave, a second apart."""

    def __init__(self) -> None:
        self._engine = Engine(make_rules())
        self._frame: Frame | None = None
        self._sequence = 0

    def found(
        self, *, gpus: tuple[GpuReading, ...] = (), ports: tuple[PortReading, ...] = ()
    ) -> set[str]:
        """The rules with an active finding after one more sample."""
        now = max(reading.monotonic_seconds for reading in (*gpus, *ports))
        self._sequence += 1
        sample = Sample(
            time_seconds=1.8e9 + now,
            monotonic_seconds=now,
            sequence=self._sequence,
            node="node17",
            gpus=gpus,
            ports=ports,
        )
        self._frame = derive(self._frame, sample)
        return {finding.id for finding in self._engine.judge(self._frame).active}


@pytest.mark.parametrize("old_driver", [False, True], ids=["R580", "older than R510"])
@pytest.mark.parametrize("lead", range(4))
def test_an_nvlink_that_goes_down(tmp_path: Path, old_driver: bool, lead: int) -> None:
    """At whatever moment of its period the slow reading is."""
    node = SimulatedNvml("h100x8", directory=tmp_path, old_driver=old_driver)
    judge = Judge()
    with Watch(node.env()) as watch:
        for _ in range(3 + lead):
            assert "LNK503" not in judge.found(gpus=tuple(watch.tick().gpus))
        node.set({"gpu.3.nvlink.7.state": 0})
        samples = 0
        found = False
        while not found and samples < 20:
            samples += 1
            found = "LNK503" in judge.found(gpus=tuple(watch.tick().gpus))
    assert samples <= (MOST_SECONDS_OF_OLD if old_driver else MOST_SECONDS)


def test_an_nvlink_that_comes_up_again(tmp_path: Path) -> None:
    node = SimulatedNvml("h100x8", {"gpu.3.nvlink.7.state": 0}, directory=tmp_path)
    with Watch(node.env()) as watch:
        watch.ticks(3)
        node.set({"gpu.3.nvlink.7.state": 1})
        links = watch.ticks(MOST_SECONDS).gpu(3).nvlinks
    assert links is not None
    assert links[7].active is True


def test_watching_links_that_stay_up_reads_nothing_more(tmp_path: Path) -> None:
    """One call a GPU every two seconds, and none for the other values."""
    node = SimulatedNvml("h100x8", directory=tmp_path)
    fields = ("nvmlDeviceGetFieldValues", 3)
    with Watch(node.env()) as watch:
        watch.ticks(12)
        before = node.calls()[fields]
        watch.ticks(20)
        spent = node.calls()[fields] - before
    assert spent <= 20 + 10 + 2 * 6, "each second, each second second, and the slow groups"


def test_an_infiniband_port_that_goes_down(tmp_path: Path) -> None:
    tree = RdmaTree(tmp_path)
    for number in range(8):
        tree.add(f"mlx5_{number}")
    now = [1000.0]
    source, judge = InfinibandSource(tmp_path, lambda: now[0]), Judge()
    for _ in range(3):
        assert judge.found(ports=source.read()) == set()
        now[0] += 1.0
    tree.set("mlx5_3", "state", "1: DOWN")
    tree.set("mlx5_3", "phys_state", "2: Polling")
    ports = source.read()
    assert (ports[3].state, ports[3].physical_state) == ("down", "polling")
    assert "LNK506" in judge.found(ports=ports), "in the very next sample"


def test_an_interface_that_goes_down(tmp_path: Path) -> None:
    tree = ProcTree(tmp_path)
    tree.write("proc/net/dev", "h\nh\n  eth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n")
    tree.write("sys/class/net/eth0/operstate", "up\n")
    tree.write("sys/class/net/eth0/speed", "100000\n")
    source = HostSource(tmp_path)
    (host,) = source.read()
    assert host.networks is not None
    assert host.networks[0].up is True
    tree.write("sys/class/net/eth0/operstate", "down\n")
    (host,) = source.read()
    assert host.networks is not None
    assert host.networks[0].up is False
