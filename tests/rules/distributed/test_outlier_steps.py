"""A few steps that take much longer than all others."""

from __future__ import annotations

import random

import pytest

from support.pace_scenes import STEP, Phases, ends_steps, longer
from support.rules_scenes import (
    Script,
    evidence,
    healthy,
    play,
)


def every(number: int, phase: str, seconds: float, rank: int | None = None) -> Script:
    def phases(each: int, step: int) -> Phases:
        slow = step % number == 0 and rank in (None, each)
        return longer(phase, seconds) if slow else STEP

    return ends_steps(phases)


def test_at_even_distances_with_phase_and_rank() -> None:
    found = play(every(10, "sync", 2.0, rank=5), 120).one("RUN441")
    assert (found.subject.kind, found.severity) == ("job", "warning")
    assert evidence(found, "every_steps").value == 10.0
    assert evidence(found, "slow_phase").value == "sync"
    assert evidence(found, "slow_rank").value == "rank 5"
    assert evidence(found, "usual_step_seconds").value == pytest.approx(1.0)
    assert found.lost_ratio == pytest.approx(2.0 / 12.0, rel=0.15)


def test_at_odd_distances() -> None:
    draw = random.Random(7)
    numbers = {number for number in range(100, 300) if draw.random() < 0.06}
    slow = ends_steps(lambda _rank, step: longer("data", 1.5) if step in numbers else STEP)
    found = play(slow, 120).one("RUN441")
    assert found.severity == "info"
    assert all(each.signal != "every_steps" for each in found.evidence)


def test_what_a_program_does_between_two_steps_at_even_distances_is_information() -> None:
    """Between two epochs, perhaps: it was written so, and may be worth it."""
    assert play(every(10, "other", 2.0), 120).one("RUN441").severity == "info"


def test_what_collects_garbage_is_the_cause() -> None:
    played = play(
        ends_steps(
            lambda rank, step: longer("gc", 1.5) if rank == 2 and step % 12 == 0 else STEP,
            page=lambda _rank: {"gc_pause_seconds": 0.0},
        ),
        120,
    )
    assert evidence(played.one("RUN441"), "slow_phase").value == "gc"


def log_normal(_rank: int, step: int) -> Phases:
    return longer("forward", min(random.Random(step).lognormvariate(-1.0, 1.0), 6.0))


@pytest.mark.parametrize(
    "script",
    [
        every(10, "sync", 0.8),
        every(10, "checkpoint", 5.0),
        ends_steps(lambda _rank, step: longer("data", 2.0) if step == 140 else STEP),
        ends_steps(log_normal),
        ends_steps(lambda _rank, step: longer("data", 2.0) if step > 150 else STEP),
        ends_steps(lambda _rank, step: longer("data", 2.0) if step < 12 else STEP, first=1),
        healthy,
    ],
    ids=["less than twice", "saves", "one", "log-normal", "another pace", "warm-up", "no probe"],
)
def test_near_misses(script: Script) -> None:
    assert "RUN441" not in play(script, 110).ever()
