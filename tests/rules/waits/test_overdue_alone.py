"""A process alone whose page says that its step is overdue: it hangs, or has nothing to do between two steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from gputop.probes.model.rank_readings import StackThreadReading

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import BEGAN, probe
from support.stall_scenes import FROM, everybody, frames, reported
from support.wait_scenes import with_threads

MINUTE = FROM + 62
SLEEPS: Mapping[str, Any] = {"wait_channel": "hrtimer_nanosleep"}
LOCK: Mapping[str, Any] = {"wait_channel": "futex_do_wait"}
QUEUE = frames("threading.py:wait:327", "queue.py:get:171", "train.py:main:9")
MAIN = StackThreadReading(frames=QUEUE, name="MainThread", main=True)
OURS = StackThreadReading(frames=(), name="gputop-control", hands_over=False, sleeps=False)


def overdue(victim: Mapping[str, Any], phase: str) -> Script:
    """One alone that stands still so since its last step, by its page in that phase."""
    base = everybody(victim, QUEUE, ranks=1, victims=frozenset({0}))

    def script(second: float) -> Changes:
        still = max(0.0, second - FROM)
        page = msgspec.structs.replace(
            probe(0, second, phase if still else "forward", still),
            rank=0,
            step=40,
            step_seconds=0.2,
            step_monotonic_seconds=BEGAN + min(second, FROM),
        )
        return replace(base(second), probes=[page])

    return script


@pytest.mark.parametrize(("phase", "told"), [("other", {}), ("data", {"RUN406": 0})])
def test_one_that_sleeps_between_two_steps_may_wait_for_the_hour(
    phase: str, told: Mapping[str, int]
) -> None:
    assert reported(play(overdue(SLEEPS, phase), MINUTE)) == told


def test_one_in_a_lock_between_two_steps_hangs() -> None:
    assert reported(play(overdue(LOCK, "other"), MINUTE)) == {"RUN406": 0}


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"hands_over": True, "sleeps": True}, {}),
        ({"hands_over": True, "sleeps": False}, {"RUN406": 0}),
        ({"hands_over": False, "sleeps": True}, {"RUN406": 0}),
        ({"hands_over": None, "sleeps": True}, {"RUN406": 0}),
        ({}, {"RUN406": 0}),
    ],
    ids=[
        "a scheduler",
        "a reader that hangs",
        "a heartbeat",
        "without its source",
        "not looked up",
    ],
)
def test_a_queue_that_a_thread_fills_on_time_is_waited_for(
    other: Mapping[str, Any], told: Mapping[str, int]
) -> None:
    thread = StackThreadReading(frames=(), name="scheduler", active=False, **other)
    script = with_threads(overdue(LOCK, "other"), MAIN, OURS, thread)
    assert reported(play(script, MINUTE)) == told


def test_the_probes_own_threads_are_not_told() -> None:
    script = with_threads(overdue(LOCK, "other"), MAIN, OURS)
    finding = play(script, MINUTE).one("RUN406")
    others = [each for each in finding.evidence if each.signal == "other_python_threads"]
    assert not any("gputop" in str(each.value) for each in others)


def test_a_thread_that_sleeps_with_the_interpreter_is_what_to_look_at() -> None:
    owner = StackThreadReading(
        frames=(), name="reader", active=False, owns_gil=True, place="read (data.py:8)"
    )
    base = everybody(LOCK, QUEUE)
    finding = play(with_threads(base, MAIN, owner), MINUTE).one("RUN406")
    assert evidence(finding, "interpreter_held_by").value
    assert "thread reader, which sleeps in C code" in (finding.next_step or "")
    assert "read (data.py:8) has to release the GIL" in (finding.next_step or "")
