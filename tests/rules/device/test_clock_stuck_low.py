"""Clocks that stay low with no reason given."""

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
from support.scene_readings import IDLE

STUCK: dict[str, Any] = {"sm_clock_hertz": 1200e6}


def test_clock_stuck_low() -> None:
    found = play(always(gpus={5: STUCK}), 31, interval=2.0).one("HW203")
    assert (found.subject.gpu, found.severity) == (5, "warning")
    assert evidence(found, "sm_clock_hertz").threshold == 1755e6


def test_clock_stuck_low_names_a_lock() -> None:
    locked = {**STUCK, "sm_clock_application_hertz": 1200e6}
    found = play(always(gpus={5: locked}), 31, interval=2.0).one("HW203")
    assert "1200 MHz" in found.next_step
    assert "-rac" in found.next_step


def test_clock_stuck_low_without_peers_is_held_against_what_it_may_run_at() -> None:
    others = {index: IDLE for index in range(8) if index != 5}
    found = [
        each
        for each in play(always(gpus={**others, 5: STUCK}), 31, interval=2.0).all("HW203")
        if each.subject.gpu == 5
    ]
    assert [evidence(each, "sm_clock_hertz").threshold for each in found] == [1980e6]


@pytest.mark.parametrize(
    "change",
    [
        {"sm_clock_hertz": 1500e6},
        {**STUCK, "utilization_ratio": 0.3},
        {**STUCK, "throttle_reasons": ("sw thermal slowdown",)},
        {**STUCK, "throttle_reasons": None},
        {**STUCK, "sm_clock_hertz": None},
        {**STUCK, "monotonic_seconds": -60.0},
    ],
    ids=["near peers", "not busy", "a reason is named", "reasons unknown", "no clock", "stale"],
)
def test_no_clock_stuck_low(change: dict[str, Any]) -> None:
    assert "HW203" not in play(always(gpus={5: change}), 35, interval=2.0).ever()


def test_a_lock_on_all_is_a_choice() -> None:
    assert play(always(every_gpu=STUCK), 35, interval=2.0).ever() == set()


def test_thermal_slowdown_explains_the_clock_of_its_own_gpu_only() -> None:
    def script(second: float) -> Changes:
        # The reason comes and goes, as it does near the limit; the clock stays low.
        hot = {**HOT, "throttle_reasons": () if second > 40 else HOT["throttle_reasons"]}
        return Changes(gpus={6: hot, 5: STUCK})

    played = play(script, 43)
    assert played.one("HW201").subject.gpu == 6
    assert played.one("HW203").subject.gpu == 5
    assert played.one("HW203").explained_by is None
