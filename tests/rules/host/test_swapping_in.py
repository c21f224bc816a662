"""Memory that comes back from swap."""

from __future__ import annotations

from typing import Any

import pytest

from support.rules_scenes import (
    Changes,
    Script,
    always,
    evidence,
    play,
)
from support.scene_readings import BEGAN, LOW


def swapping(rate: float, **more: Any) -> Script:
    return lambda second: Changes(host={"swap_in_bytes": int(rate * (BEGAN + second)), **more})


def test_swapping_in() -> None:
    found = play(swapping(5e6), 7).one("HST109")
    assert (found.subject.kind, found.severity) == ("host", "warning")
    rate = evidence(found, "swap_in_bytes_per_second")
    assert rate.value == pytest.approx(5e6)
    assert rate.threshold == 1e6


@pytest.mark.parametrize(
    "script",
    [
        swapping(0.9e6),
        always(host={"swap_in_bytes": None}),
        always(host={"swap_in_bytes": 10**12}),
        always(host=None),
        lambda second: Changes(
            host={"swap_in_bytes": int(5e6 * second), "monotonic_seconds": BEGAN + min(second, 2)}
        ),
    ],
    ids=["little", "unknown", "long ago", "no host", "stale"],
)
def test_not_swapping_in(script: Script) -> None:
    assert "HST109" not in play(script, 15).ever()


def test_swapping_in_explains_low_utilization() -> None:
    def script(second: float) -> Changes:
        changes = swapping(5e6)(second)
        changes.every_gpu = LOW
        return changes

    found = play(script, 45).all("HW210")
    assert {each.explained_by and each.explained_by.id for each in found} == {"HST109"}
