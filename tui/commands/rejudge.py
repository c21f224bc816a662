"""``gputop replay --rejudge``: all of a recording judged anew, by the rules and thresholds of today."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from ...probes.derive.cache import DeriveCache
from ...probes.derive.frame import derive
from ...probes.feeds.protocol import FeedError
from ...probes.model.frame import Frame
from ...probes.model.mark import Mark
from ...probes.recording.recording import Recording
from ...probes.recording.segment import RecordingError
from ...rules.engine import Engine
from ..drawing import format
from ..session.found_marks import FoundMarks

_TOLD_EACH_SECONDS = 0.5


def rejudged(recording: Recording, engine: Engine) -> tuple[Mark, ...]:
    """When findings begin and end in it; says how far it is, on standard error.

    Raises:
        FeedError: where it cannot be read.
    """
    progress = _Progress(recording)
    try:
        marks = marks_of(recording, engine, progress.at)
    except RecordingError as error:
        raise FeedError(str(error)) from error
    finally:
        progress.clear()
    began = sum(mark.began for mark in marks)
    then = sum(mark.began for mark in recording.marks())
    progress.say(f"{format.counted(began, 'finding')} now, {then} when it was recorded")
    return marks


def marks_of(recording: Recording, engine: Engine, at: Callable[[float], None]) -> tuple[Mark, ...]:
    """What is found in it; ``at`` is told the time of each sample.

    Raises:
        RecordingError: where it cannot be read.
    """
    frame: Frame | None = None
    cache, found = DeriveCache(), FoundMarks()
    marks: list[Mark] = []
    for sample in recording.samples(recording.first_seconds, recording.last_seconds):
        at(sample.time_seconds)
        frame = derive(frame, sample, cache)
        marks.extend(found.of(engine.judge(frame)))
    return tuple(marks)


class _Progress:
    """A line on a terminal that is written over; elsewhere nothing until the end."""

    def __init__(self, recording: Recording) -> None:
        self._begin = recording.first_seconds
        self._whole = max(recording.last_seconds - self._begin, 1e-9)
        self._shown = sys.stderr.isatty()
        self._due = self._started = time.monotonic()

    def at(self, time_seconds: float) -> None:
        """So far it has come."""
        now = time.monotonic()
        if not self._shown or now < self._due:
            return
        self._due = now + _TOLD_EACH_SECONDS
        share = (time_seconds - self._begin) / self._whole
        taken = now - self._started
        left = f", {format.duration(taken / share - taken)} left" if share > 0.01 else ""
        self._write(f"judging anew: {format.clock(time_seconds)}, {share:.0%}{left}")

    def clear(self) -> None:
        """The line is not needed any more."""
        if self._shown:
            self._write("")

    def say(self, sentence: str) -> None:
        """What came of it."""
        print(f"gputop: {sentence}", file=sys.stderr, flush=True)

    def _write(self, line: str) -> None:
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
