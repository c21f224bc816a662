"""First steps that take many times as long as those after them."""

from __future__ import annotations

import pytest

from support.pace_scenes import STEP, Phases, ends_steps, longer
from support.rules_scenes import (
    Script,
    evidence,
    healthy,
    play,
)


def begins(
    seconds: float, phase: str = "backward", *, rank: int | None = None, first: int = 1
) -> Script:
    def phases(each: int, step: int) -> Phases:
        return longer(phase, seconds) if step == first and rank in (None, each) else STEP

    return ends_steps(phases, first=first)


def test_it_is_told_with_phase_and_rank() -> None:
    found = play(begins(9.0, rank=3), 40).one("RUN445")
    assert (found.subject.kind, found.severity) == ("job", "info")
    assert evidence(found, "first_step_seconds").value == pytest.approx(10.0)
    assert evidence(found, "times_median").value == pytest.approx(10.0)
    assert evidence(found, "slowest_rank").value in ("rank 0", "rank 3")
    assert found.price.reason


def test_all_from_the_first_batch_on_is_part_of_it() -> None:
    """As the probe has it: until a step has ended, what belongs to no other phase is start-up."""
    found = play(begins(9.0, "startup"), 40).one("RUN445")
    assert evidence(found, "longest_in").value == "startup"


def test_it_is_told_for_a_while() -> None:
    played = play(begins(9.0), 340, interval=5.0)
    assert played.active_from("RUN445") is not None
    assert "RUN445" not in played.ids()


@pytest.mark.parametrize(
    "script",
    [
        begins(1.5),
        begins(4.0),
        begins(9.0, first=700),
        healthy,
    ],
    ids=["twice", "few seconds", "not the first", "no probe"],
)
def test_near_misses(script: Script) -> None:
    assert "RUN445" not in play(script, 90, interval=2.0).ever()
