"""GPUs that lose clock to a power limit that their peers do not have."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.rules.device.power_cap import PowerCap

from support.rules_scenes import (
    Changes,
    always,
    evidence,
    play,
)
from support.scene_readings import SPINNING

CAPPED: dict[str, Any] = {
    "throttle_reasons": ("sw power cap",),
    "sm_clock_hertz": 1400e6,
    "power_watts": 500.0,
    "power_limit_watts": 500.0,
}


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


def test_a_cap_is_told_though_the_gpu_waits_for_data_in_between() -> None:
    """While it waits it draws less than its limit, so nothing holds it then."""

    def script(second: float) -> Changes:
        waits = second % 5 in (1, 2)
        idle = {**CAPPED, "throttle_reasons": (), "power_watts": 150.0, "sm_clock_hertz": 1980e6}
        return Changes(gpus={2: idle if waits else CAPPED})

    played = play(script, 90)
    began = played.active_from("HW202")
    assert began is not None and began <= 35.0
    assert {"HW202"} <= played.ids()


def test_one_that_works_at_its_limit_and_is_not_held_clears() -> None:
    def script(second: float) -> Changes:
        return Changes(gpus={2: CAPPED if second < 40 else {"power_watts": 690.0}})

    played = play(script, 40 + PowerCap.clear_seconds + 5)
    assert "HW202" in played.ever() and "HW202" not in played.ids()
