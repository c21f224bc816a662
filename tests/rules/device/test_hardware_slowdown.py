"""GPUs that their hardware brakes."""

from __future__ import annotations

from typing import Any

import pytest

from support.rules_scenes import (
    Changes,
    always,
    evidence,
    play,
)

BRAKED: dict[str, Any] = {
    "throttle_reasons": ("hw slowdown", "hw power brake"),
    "sm_clock_hertz": 990e6,
}


def test_hardware_slowdown() -> None:
    found = play(always(gpus={1: BRAKED}), 4).one("HW207")
    assert (found.subject.gpu, found.severity) == (1, "error")
    assert evidence(found, "throttle_reasons").value == "hw power brake, hw slowdown"


def test_a_brake_without_clock_loss_is_a_warning() -> None:
    found = play(always(gpus={1: {**BRAKED, "sm_clock_hertz": 1755e6}}), 4).one("HW207")
    assert found.severity == "warning"


@pytest.mark.parametrize(
    "change",
    [
        {**BRAKED, "throttle_reasons": ("sw power cap",)},
        {**BRAKED, "throttle_reasons": ("hw slowdown", "hw thermal slowdown")},
        {**BRAKED, "throttle_reasons": None},
        {**BRAKED, "lost": True},
    ],
    ids=["cap", "thermal", "unknown", "lost"],
)
def test_no_hardware_slowdown(change: dict[str, Any]) -> None:
    assert "HW207" not in play(always(gpus={1: change}), 10).ever()


def test_a_short_brake_is_none() -> None:
    blips = lambda second: Changes(gpus={1: BRAKED if second % 4 < 2 else {}})
    assert "HW207" not in play(blips, 20).ever()
