"""GPUs that slow down since they are hot."""

from __future__ import annotations

from typing import Any

import pytest

from support.clock_scenes import HOT
from support.rules_scenes import (
    Changes,
    always,
    evidence,
    play,
)


def test_thermal_slowdown() -> None:
    played = play(always(gpus={6: HOT}), 10)
    found = played.one("HW201")
    assert (found.subject.gpu, found.subject.rank, found.severity) == (6, 6, "warning")
    heat = evidence(found, "temperature_celsius")
    assert (heat.value, heat.threshold, heat.comparison) == (89.0, 82.0, "≥")
    clock = evidence(found, "sm_clock_hertz")
    assert (clock.value, clock.threshold, clock.comparison) == (1200e6, 1755e6, "against")
    assert played.ids() == {"HW201"}, "its hw slowdown bit is part of it"


def test_heat_that_the_driver_does_not_name() -> None:
    hot = {"throttle_reasons": None, "temperature_celsius": 84.0, "sm_clock_hertz": 1400e6}
    found = play(always(gpus={6: hot}), 10).one("HW201")
    assert found.confidence < 1
    assert evidence(found, "throttle_reasons").value is None


@pytest.mark.parametrize(
    "change",
    [
        {"temperature_celsius": 86.0},
        {"throttle_reasons": None, "temperature_celsius": 81.9, "sm_clock_hertz": 1400e6},
        {"throttle_reasons": None, "temperature_celsius": 84.0, "sm_clock_hertz": 1500e6},
        {**HOT, "throttle_reasons": ("sw power cap",)},
        {**HOT, "temperature_celsius": None},
        {**HOT, "monotonic_seconds": -60.0},
        {**HOT, "lost": True},
    ],
    ids=["hot alone", "cool", "fast", "capped", "no temperature", "stale", "lost"],
)
def test_no_thermal_slowdown(change: dict[str, Any]) -> None:
    assert "HW201" not in play(always(gpus={6: change}), 10).ever()


def test_thermal_slowdown_must_hold() -> None:
    blips = lambda second: Changes(gpus={6: HOT if second % 5 else {}})
    assert "HW201" not in play(blips, 30).ever()


def test_heat_is_shown_beside_the_limit_that_it_was_judged_by() -> None:
    # Hotter than what the rule looks for, cooler than the chip's own limit of 87 °C.
    warm = {**HOT, "temperature_celsius": 83.0, "throttle_reasons": ()}
    found = play(always(gpus={6: warm}), 10).one("HW201")
    heat = evidence(found, "temperature_celsius")
    assert (heat.value, heat.threshold, heat.comparison) == (83.0, 82.0, "≥")
    assert evidence(found, "temperature_slowdown_celsius").value == 87.0
