"""The recent past as it was at a moment of it."""

from __future__ import annotations

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.rules.history import History

from support.recordings import small_samples


def test_the_past_of_a_moment_ends_there_and_does_not_change() -> None:
    history, frame = History(), None
    frames: list[Frame] = []
    for sample in small_samples(20):
        frame = derive(frame, sample)
        frames.append(frame)
        history.add(frame)
        if len(frames) == 10:
            then = history.gpu(0, "power_watts").window(1e9)
    past = history.until(frames[9].monotonic_seconds + 0.5)
    assert past.gpu(0, "power_watts").window(1e9) == then and len(then) == 10
    assert past.seconds() == 9.0
    history.add(derive(frame, small_samples(21)[20]))
    history.clear()
    assert past.gpu(0, "power_watts").window(1e9) == then
    assert len(History().until(5.0)) == 0
