"""A PCIe link below its width or generation."""

from __future__ import annotations

from typing import Any

import pytest

from support.rules_scenes import (
    Changes,
    always,
    evidence,
    play,
)
from support.scene_readings import GPUS


def test_pcie_link_degraded() -> None:
    found = play(always(gpus={5: {"pcie_width": 8}}), 31, interval=2.0).one("LNK501")
    assert (found.subject.kind, found.subject.id, found.subject.gpu) == ("link", "gpu5 pcie", 5)
    assert found.severity == "warning"
    width = evidence(found, "pcie_width")
    assert (width.value, width.threshold, width.comparison) == (8, 16, "<")


def test_a_link_that_is_low_on_all_is_the_board() -> None:
    found = play(always(every_gpu={"pcie_generation": 4}), 31, interval=2.0).all("LNK501")
    assert len(found) == GPUS
    assert {each.severity for each in found} == {"info"}


@pytest.mark.parametrize(
    "change",
    [
        {"pcie_generation": 1, "utilization_ratio": 0.1, "sm_active_ratio": None},
        {"pcie_generation": None},
        {"pcie_width": 8, "pcie_width_max": None},
        {"pcie_width": 1, "memory_total_bytes": None},
        {"pcie_width": 8, "monotonic_seconds": -60.0},
        {"pcie_width": 8, "lost": True},
    ],
    ids=["idle", "unknown", "limit unknown", "built in", "stale", "lost"],
)
def test_pcie_link_not_degraded(change: dict[str, Any]) -> None:
    assert "LNK501" not in play(always(gpus={5: change}), 40, interval=2.0).ever()


def test_a_link_that_trains_up_in_time_is_fine() -> None:
    def script(second: float) -> Changes:
        return Changes(gpus={5: {"pcie_generation": 1 if second % 29 < 26 else 5}})

    assert "LNK501" not in play(script, 62).ever()
