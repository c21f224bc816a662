"""A wait that comes back with the turn of a worker, beside waits of other periods and of other causes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from msgspec import structs

from gputop.probes.model.probe_readings import LoaderReading

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.step_scenes import FIRST_STEP, spends, steps

Waits = Callable[[int, int], float]
"""Rank and step → seconds that it waits for its data."""


def waits(
    seconds: Waits,
    *,
    num_workers: int = 8,
    utilization: float = 0.8,
    micro_steps: int = 1,
    others: Callable[[int], dict[str, float]] = lambda _step: {},
) -> Script:
    """One step is told of each second; its phases are as long as is said."""

    def phases(rank: int, step: int) -> dict[str, float]:
        return {"data": seconds(rank, step), "forward": 1.0, **others(step)}

    def more(rank: int, second: float) -> dict[str, object]:
        spent = phases(rank, FIRST_STEP + int(second))
        whole = sum(spent.values())
        return {
            "steps": steps(second, lambda _: whole, phases=spent, micro_steps=micro_steps),
            "loader": LoaderReading(num_workers=num_workers),
        }

    script = spends(lambda _rank, _second: {"data": 0.2}, more)

    def busy(second: float) -> Changes:
        return replace(script(second), every_gpu={"utilization_ratio": utilization})

    return busy


def every(period: int, long: float = 2.0, usual: float = 0.002, at: int = 3) -> Waits:
    return lambda _rank, step: long if step % period == at % period else usual


def test_a_wait_that_comes_back_with_the_turn_of_a_worker() -> None:
    played = play(waits(every(8)), 90)
    found = played.one("INP707")
    assert (found.subject.kind, found.severity) == ("job", "warning")
    assert evidence(found, "stall_period").value == 8.0
    assert evidence(found, "data_wait_p99_seconds").value == 2.0
    assert evidence(found, "data_wait_p50_seconds").value == 0.002
    lost = 1.998 / (8 * 1.002 + 1.998)
    assert evidence(found, "stall_ratio").value == pytest.approx(lost, abs=0.02)
    assert found.price.lost_ratio == pytest.approx(lost, abs=0.02)
    (bound,) = played.all("INP701")
    assert bound.explained_by is not None and bound.explained_by.id == "INP707"


def test_one_rank_is_enough() -> None:
    one = waits(lambda rank, step: every(8)(rank, step) if rank == 5 else 0.002)
    assert evidence(play(one, 90).one("INP707"), "rank").value == "r5"


def test_a_new_epoch_begins_with_another_worker() -> None:
    shifted = waits(lambda rank, step: every(8)(rank, step + step // 37 * 3))
    assert "INP707" in play(shifted, 100).ever()


def test_with_accumulation_a_turn_is_fewer_steps() -> None:
    found = play(waits(every(4), micro_steps=2), 90).one("INP707")
    assert evidence(found, "stall_period").value == 4.0


@pytest.mark.parametrize(
    "seconds",
    [
        every(4),
        every(7),
        every(16),
        every(8, long=0.2),
        every(8, usual=0.5),
        lambda _rank, step: 2.0 if Random(step).random() < 0.12 else 0.002,
        lambda _rank, step: 2.0 if step % 8 == 3 and step < FIRST_STEP + 50 else 0.002,
    ],
    ids=["half", "seven", "double", "short", "usual is long", "by chance", "over"],
)
def test_near_misses(seconds: Waits) -> None:
    assert "INP707" not in play(waits(seconds), 90).ids()


@pytest.mark.parametrize(
    "others",
    [
        lambda step: {"other": 1.5} if step % 8 == 3 else {"other": 0.01},
        lambda step: {"checkpoint": 1.5} if step % 8 == 2 else {},
    ],
    ids=["logging at that step", "saving before it"],
)
def test_what_comes_with_other_work_of_the_same_period_is_not_told(
    others: Callable[[int], dict[str, float]],
) -> None:
    assert "INP707" not in play(waits(every(8), others=others), 90).ever()


def test_other_work_of_another_period_is_no_excuse() -> None:
    logs = waits(every(8), others=lambda step: {"other": 1.5} if step % 10 == 0 else {})
    assert "INP707" in play(logs, 90).ever()


@pytest.mark.parametrize("changes", [{"num_workers": 0}, {"num_workers": 1}, {"utilization": 0.98}])
def test_without_workers_in_turn_or_with_a_busy_gpu(changes: dict[str, float]) -> None:
    script = waits(every(8), **changes)  # type: ignore[arg-type]
    assert "INP707" not in play(script, 90).ever()


def test_steps_that_are_not_all_told_are_no_series() -> None:
    whole = waits(every(8))

    def thinned(second: float) -> Changes:
        changes = whole(second)
        if int(second) % 8 in (4, 5, 6):
            changes.probes = [structs.replace(page, steps=()) for page in changes.probes]
        return changes

    assert "INP707" not in play(thinned, 90).ever()
