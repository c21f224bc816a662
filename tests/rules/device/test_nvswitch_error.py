"""SXids of NVSwitches in the kernel log: fatal ones of now, and what is no fault."""

from __future__ import annotations

import pytest

from support.rules_scenes import always, evidence, play
from support.scene_readings import log_line

SWITCH = {"subject": "nvidia-nvswitch3", "pci_bus_id": "0000:c1:00.0", "code": 24007}


def test_a_fatal_one() -> None:
    line = log_line(-20, "sxid", level="fatal", text="SXid 24007, Fatal, Link 28", **SWITCH)
    found = play(always(kernel_log=[line]), 2).one("HW219")
    assert (found.severity, found.subject.id) == ("error", "nvidia-nvswitch3")
    assert evidence(found, "kernel_log").value == "SXid 24007, Fatal, Link 28"
    assert found.subject.job is not None


@pytest.mark.parametrize(
    ("second", "level"),
    [(-20, "nonfatal"), (-3700, "fatal")],
    ids=["not fatal", "of more than an hour ago"],
)
def test_what_is_information(second: float, level: str) -> None:
    line = log_line(second, "sxid", level=level, before_start=True, **SWITCH)
    found = play(always(kernel_log=[line]), 2).one("HW219")
    assert found.severity == "info"
    assert evidence(found, "since").value == "before this watch"


def test_none() -> None:
    assert play(always(kernel_log=[log_line(-90_000, "sxid", **SWITCH)]), 2).ever() == set()
    assert "HW219" not in play(always(kernel_log=[log_line(-5, "gpu fault")]), 2).ever()
