"""PCIe errors of GPUs, cards and the bridges above them, and those of others."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.link_readings import PciPlace, TopologyReading

from support.rules_scenes import (
    Script,
    always,
    evidence,
    play,
)
from support.scene_readings import BEGAN, gpu_slot, log_line, port

BRIDGE = "0000:0f:01.0"
GPU_3 = f"{gpu_slot(3)}.0"


def told(second: float = -5.0, *, device: str | None = GPU_3, **fields: Any) -> Script:
    line = log_line(second, "pcie error", pci_bus_id=device, **fields)
    places = [
        PciPlace(bus_id=f"{gpu_slot(index)}.0", kind="gpu", path=("pci0000:0f", BRIDGE))
        for index in (2, 3)
    ]
    return always(
        kernel_log=[line],
        topology=TopologyReading(monotonic_seconds=BEGAN, places=tuple(places)),
        ports=[port(0, pci_bus_id="0000:c0:00.0")],
    )


@pytest.mark.parametrize(("level", "severity"), [("fatal", "error"), ("nonfatal", "warning")])
def test_of_a_gpu(level: str, severity: str) -> None:
    found = play(told(level=level), 1).one("LNK515")
    assert (found.severity, found.subject.gpu, found.subject.rank) == (severity, 3, 3)
    assert evidence(found, "kernel_log").value == "a line of pcie error"


def test_of_the_bridge_above_two() -> None:
    found = play(told(device=BRIDGE, level="fatal"), 1).one("LNK515")
    assert (found.severity, found.subject.id) == ("error", f"pci {BRIDGE}")
    assert found.subject.gpu is None and found.subject.job is not None
    assert evidence(found, "below_bridge").value == "GPU 2, GPU 3"


def test_of_another_port_of_the_bridge_above_them() -> None:
    other = BRIDGE.replace(".0", ".1")
    assert play(told(device=other, level="fatal"), 1).one("LNK515").severity == "info"


def test_of_a_network_card() -> None:
    assert (
        play(told(device="0000:c0:00.1", level="nonfatal"), 1).one("LNK515").severity == "warning"
    )


@pytest.mark.parametrize(
    ("second", "device"),
    [(-5.0, "0000:e1:00.0"), (-4000.0, GPU_3)],
    ids=["of a device that no job needs", "of more than an hour ago"],
)
def test_what_is_information(second: float, device: str) -> None:
    assert play(told(second, device=device, level="fatal"), 1).one("LNK515").severity == "info"


@pytest.mark.parametrize(("count", "found"), [(100, True), (99, False)])
def test_corrected_ones_count_when_they_are_a_storm(count: int, found: bool) -> None:
    played = play(told(level="corrected", count=count), 1)
    assert ("LNK515" in played.ids()) is found


def test_a_storm_of_long_ago_is_over() -> None:
    assert "LNK515" not in play(told(-700.0, level="corrected", count=5000), 1).ever()
