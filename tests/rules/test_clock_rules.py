"""Thermal slowdown, power cap, clock stuck low, hardware slowdown."""

from __future__ import annotations

from typing import Any

import pytest

from support.rules_scenes import IDLE, SPINNING, Changes, always, evidence, healthy, play

HOT: dict[str, Any] = {
    "throttle_reasons": ("hw slowdown", "hw thermal slowdown"),
    "temperature_celsius": 89.0,
    "sm_clock_hertz": 1200e6,
}
CAPPED: dict[str, Any] = {
    "throttle_reasons": ("sw power cap",),
    "sm_clock_hertz": 1400e6,
    "power_watts": 500.0,
    "power_limit_watts": 500.0,
}
STUCK: dict[str, Any] = {"sm_clock_hertz": 1200e6}
BRAKED: dict[str, Any] = {
    "throttle_reasons": ("hw slowdown", "hw power brake"),
    "sm_clock_hertz": 990e6,
}


def test_a_healthy_job_has_no_findings() -> None:
    played = play(healthy, 75)
    assert all(not judgement.findings for judgement in played.judgements)


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


def test_power_cap_with_clock_loss() -> None:
    found = play(always(gpus={2: CAPPED}), 31, interval=2.0).one("HW202")
    assert (found.subject.gpu, found.severity) == (2, "warning")
    limit = evidence(found, "power_limit_watts")
    assert (limit.value, limit.threshold) == (500.0, 700.0)
    assert "nvidia-smi -i 2 -pl 700" in found.next_step


@pytest.mark.parametrize(
    "change",
    [
        {**CAPPED, "sm_clock_hertz": 1500e6},
        {**CAPPED, "throttle_reasons": ()},
        {**CAPPED, "throttle_reasons": None},
        {**CAPPED, "sm_clock_hertz": None},
    ],
    ids=["clock near peers", "no cap", "reasons unknown", "clock unknown"],
)
def test_no_power_cap(change: dict[str, Any]) -> None:
    assert "HW202" not in play(always(gpus={2: change}), 35, interval=2.0).ever()


def test_a_cap_on_all_is_normal() -> None:
    assert play(always(every_gpu=CAPPED), 35, interval=2.0).ever() == set()


def test_the_one_that_computes_is_not_slow_beside_spinning_ones() -> None:
    spinning = {index: SPINNING for index in range(8) if index != 2}
    own = {**CAPPED, "power_watts": 650.0, "sm_clock_hertz": 1600e6}
    assert "HW202" not in play(always(gpus={**spinning, 2: own}), 35, interval=2.0).ever()


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


def test_heat_is_shown_beside_the_limit_that_it_was_judged_by() -> None:
    # Hotter than what the rule looks for, cooler than the chip's own limit of 87 °C.
    warm = {**HOT, "temperature_celsius": 83.0, "throttle_reasons": ()}
    found = play(always(gpus={6: warm}), 10).one("HW201")
    heat = evidence(found, "temperature_celsius")
    assert (heat.value, heat.threshold, heat.comparison) == (83.0, 82.0, "≥")
    assert evidence(found, "temperature_slowdown_celsius").value == 87.0
