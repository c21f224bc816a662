"""A fan that stands still while its chip is hot."""

from __future__ import annotations

from typing import Any

import pytest

from support.rules_scenes import always, evidence, play

STOPPED: dict[str, Any] = {
    "fan_count": 2,
    "fan_speed_ratio": 0.0,
    "fan_rotations_per_second": 0.0,
    "temperature_celsius": 80.0,
}


def hot(**more: Any) -> Any:
    return always(gpus={4: {**STOPPED, **more}})


def test_a_fan_that_is_set_to_stand_still_while_hot() -> None:
    played = play(hot(), 16)
    found = played.one("HW212")
    assert (found.subject.gpu, found.severity, found.name) == (
        4,
        "warning",
        "fan stopped while hot",
    )
    assert played.active_from("HW212") == 15.0
    heat = evidence(found, "temperature_celsius")
    assert (heat.value, heat.threshold, heat.comparison) == (80.0, 75.0, "≥")
    assert evidence(found, "fan_speed_ratio").value == 0.0


def test_a_driver_that_reports_no_rotations_is_enough_for_that() -> None:
    assert play(hot(fan_rotations_per_second=None), 16).one("HW212").name == "fan stopped while hot"


def test_numbers_that_contradict_each_other_are_less_sure() -> None:
    found = play(hot(fan_speed_ratio=0.9), 16).one("HW212")
    assert (found.name, found.confidence) == ("fan at 0 rotations while hot", 0.6)
    alone = play(hot(fan_speed_ratio=None), 16).one("HW212")
    assert (alone.name, alone.confidence) == ("fan stopped while hot", 0.9)


def test_where_the_chip_slows_itself_it_is_an_error_and_the_cause() -> None:
    reasons = {"throttle_reasons": ("hw thermal slowdown",), "sm_clock_hertz": 900e6}
    played = play(hot(temperature_celsius=88.0, **reasons), 30)
    found = played.one("HW212")
    assert found.severity == "error"
    slowed = played.one("HW201")
    assert slowed.explained_by is not None and slowed.explained_by.id == "HW212"


@pytest.mark.parametrize(
    "near",
    [
        {"temperature_celsius": 74.0},
        {"fan_speed_ratio": 0.3, "fan_rotations_per_second": None},
        {"fan_speed_ratio": 0.3, "fan_rotations_per_second": 20.0},
        {"fan_speed_ratio": 0.0, "fan_rotations_per_second": 25.0},
        {"fan_count": 0, "fan_speed_ratio": None, "fan_rotations_per_second": None},
        {"fan_count": None, "fan_speed_ratio": None, "fan_rotations_per_second": None},
        {"temperature_celsius": None},
        {"monotonic_seconds": -60.0},
    ],
    ids=[
        "cool enough to rest",
        "set to turn",
        "turns",
        "turns whatever it is set to",
        "none",
        "unknown",
        "no temperature",
        "stale",
    ],
)
def test_near_misses(near: dict[str, Any]) -> None:
    assert "HW212" not in play(hot(**near), 20).ever()


def test_a_short_stop_is_none() -> None:
    def script(second: float) -> Any:
        return hot(fan_speed_ratio=0.0 if second < 12 else 0.5, fan_rotations_per_second=None)(0.0)

    assert "HW212" not in play(script, 25).ever()


def test_a_board_without_fans_is_no_gap_and_one_that_does_not_tell_is() -> None:
    def gaps(**fans: Any) -> set[str]:
        none = {"fan_speed_ratio": None, "fan_rotations_per_second": None}
        script = always(every_gpu={**none, **fans})
        return {each.id for each in play(script, 2).last.not_evaluated}

    assert "HW212" not in gaps(fan_count=0)
    assert "HW212" in gaps(fan_count=2)
