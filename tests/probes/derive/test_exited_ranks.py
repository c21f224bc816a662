"""Ranks that ended while they were watched, however far apart their going and how it was are reported."""

from __future__ import annotations

import pytest

from gputop.probes.derive.exited_ranks import PENDING_EXIT_SECONDS
from gputop.probes.model.frame import Frame
from gputop.probes.model.rank_readings import ExitReading

from support.probe_scenes import STARTED, fold, process, sample


def exit_of(pid: int, moment: float, signal: int = 9) -> ExitReading:
    return ExitReading(pid=pid, start_time_seconds=STARTED, monotonic_seconds=moment, signal=signal)


def reported_after(seconds: float) -> Frame:
    """Both ranks are gone at once, and how the second one ended is reported so much later."""
    both = [process(10.0, 100), process(10.0, 101)]
    return fold(
        sample(10.0, (), both),
        sample(11.0, (), []),
        sample(10.5 + seconds, (), []),
        sample(11.0 + seconds, (), [], exits=(exit_of(101, 10.8),)),
    )


@pytest.mark.parametrize("seconds", [1.0, PENDING_EXIT_SECONDS - 1.0])
def test_how_it_ended_may_be_reported_when_its_whole_job_is_in_no_frame_any_more(
    seconds: float,
) -> None:
    frame = reported_after(seconds)
    (gone,) = frame.exited_ranks
    assert (gone.rank, gone.pid, gone.signal, gone.job_name) == (1, 101, 9, "train.py")
    assert gone.monotonic_seconds == 10.8
    assert [each.rank for each in frame.pending_exits] == [0], (
        "of the other one nothing is known yet"
    )


def test_nobody_is_waited_for_for_ever() -> None:
    frame = reported_after(PENDING_EXIT_SECONDS + 1.0)
    assert (frame.exited_ranks, frame.pending_exits) == ((), ())


def test_who_comes_back_is_not_waited_for() -> None:
    both = [process(10.0, 100), process(10.0, 101)]
    frame = fold(sample(10.0, (), both), sample(11.0, (), both[:1]), sample(12.0, (), both))
    assert frame.pending_exits == ()


def test_it_is_reported_as_often_as_the_samples_repeat_it() -> None:
    both = [process(10.0, 100), process(10.0, 101)]
    exits = (exit_of(101, 10.8), exit_of(100, 10.9, 15))
    frames = [sample(11.0 + at, (), [], exits=exits) for at in range(3)]
    frame = fold(sample(10.0, (), both), *frames)
    assert [(gone.rank, gone.signal) for gone in frame.exited_ranks] == [(1, 9), (0, 15)]
    assert fold(sample(10.0, (), both), *frames, sample(15.0, (), [])).exited_ranks == ()
