"""Errors that ECC corrects, by how often they come."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import xid


def counts(errors: Callable[[float], int], every: float = 8.0) -> Script:
    """The counter of GPU 4, read so often."""

    def script(second: float) -> Changes:
        read = second // every * every
        return Changes(gpus={4: {"ecc_corrected": errors(read)}})

    return script


def test_a_storm() -> None:
    found = play(counts(lambda second: 14 + int(3 * second)), 150).one("HW221")
    assert (found.subject.gpu, found.severity) == (4, "warning")
    rate = evidence(found, "corrected_errors_per_minute")
    assert isinstance(rate.value, float) and 150 < rate.value < 185
    assert (rate.threshold, rate.unit) == (60.0, "per_minute")
    assert found.price.reason


def test_a_total_that_the_clouds_drain_at_counts_while_it_grows() -> None:
    found = play(counts(lambda second: 20_000_000 + int(second / 8)), 150).one("HW221")
    assert evidence(found, "ecc_corrected").threshold == 20e6


def test_the_driver_agrees() -> None:
    storm = counts(lambda second: int(3 * second))

    def script(second: float) -> Changes:
        changes = storm(second)
        changes.xids = [xid(60, 92, 4)] if second >= 60 else []
        return changes

    assert evidence(play(script, 150).one("HW221"), "xid").value == "92"


@pytest.mark.parametrize(
    "errors",
    [
        lambda second: 50_000_000,
        lambda second: 14 + int(second / 20),
        lambda second: 14 + (100_000 if second >= 40 else 0),
        lambda second: (
            9_000_000 + int(3 * second) if second < 40 else int(3 * second) if second < 80 else 120
        ),
    ],
    ids=["an old total", "a few", "one burst", "after a reset"],
)
def test_near_misses(errors: Callable[[float], int]) -> None:
    assert "HW221" not in play(counts(errors), 130).ever()


def test_without_ecc_it_says_that_it_cannot_look() -> None:
    off = {"ecc_corrected": None, "missing": {"ecc_corrected": "ECC is off"}}
    last = play(lambda _: Changes(every_gpu=off), 15).last
    assert {each.id: each.reason for each in last.not_evaluated}["HW221"] == "ECC is off"
