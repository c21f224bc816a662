"""A recording as a feed: played at its own pace or another, paused, stepped, and from any time on.

For who builds on it:

- ``messages`` is iterated on one thread; everything else may be called from any thread, at any time.
- The samples of the minute before come first, at once: as many as ``past_samples`` says at the start, and
  as many as ``Jumped.past_samples`` says after each jump. The one behind them is the one that was asked for.
- ``marks`` are the findings as they were judged live with the sample that ``messages`` yielded last; read
  it where the sample is taken, before the next one is asked for.
- ``position_seconds`` is the time of that sample. At the end of the recording it waits for a jump, unless
  it is not paced: then it ends.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

from ..model.sample import Sample
from ..recording.block import Kept
from ..recording.cursor import Cursor
from ..recording.marks import Event, Mark
from ..recording.recording import Recording
from ..wire.command import Command
from .protocol import FeedError, Jumped, Notice

_CLOSE_SECONDS = 0.3
WARM_UP_SECONDS = 60.0
"""Of the past, which rates and findings are worked out from."""
LONGEST_GAP_SECONDS = 10.0
"""A hole in the recording is not waited for longer than that."""


class _Following(NamedTuple):
    kept: Kept
    place: tuple[int, int]


class ReplayFeed:
    """Plays a recording, which it closes in the end.

    Args:
        recording: what to play.
        start_seconds: Unix time from which on; ``None``: the beginning.
        end_seconds: Unix time of the last sample; ``None``: the end.
        paced: wait between samples as long as it took then; else all come at once, and it ends.
        warm_up_seconds: so much of the past comes first, here and after each jump.
    """

    simulated = True
    pids: tuple[int, ...] = ()

    def __init__(
        self,
        recording: Recording,
        *,
        start_seconds: float | None = None,
        end_seconds: float | None = None,
        paced: bool = True,
        warm_up_seconds: float = WARM_UP_SECONDS,
    ) -> None:
        self.title = f"recording {recording.title}"
        self.recording = recording
        self._end = math.inf if end_seconds is None else end_seconds
        self._paced = paced
        self._warm_up = warm_up_seconds
        self._cursor = Cursor(recording)
        self._changed = threading.Condition()
        self._wanted: float | None = None
        self._steps = 0
        self._paused = False
        self._speed = 1.0
        self._closed = False
        self._reading = threading.Lock()
        """Held while the files are read, which must not be closed then."""
        self._told = ""
        self.marks: tuple[Mark, ...] = ()
        self.position_seconds = recording.begins_seconds if start_seconds is None else start_seconds
        self._first = self._from(self.position_seconds)
        self.past_samples = max(0, len(self._first) - 1)

    @property
    def begins_seconds(self) -> float:
        """Unix time of the first sample that can be gone to."""
        return self.recording.begins_seconds

    @property
    def ends_seconds(self) -> float:
        """Unix time of the last one."""
        return min(self._end, self.recording.ends_seconds)

    @property
    def events(self) -> tuple[Event, ...]:
        """When findings became active and were found gone, as judged live."""
        return self.recording.events

    @property
    def paused(self) -> bool:
        """Whether it stands still until it is asked for something."""
        return self._paused

    @property
    def speed(self) -> float:
        """How many recorded seconds pass in one."""
        return self._speed

    def pause(self, paused: bool = True) -> None:
        """Stand still, or go on."""
        with self._changed:
            self._paused = paused
            self._changed.notify_all()

    def set_speed(self, speed: float) -> None:
        """Let so many recorded seconds pass in one; more than 0."""
        with self._changed:
            self._speed = speed
            self._changed.notify_all()

    def seek(self, time_seconds: float) -> None:
        """Go to the last sample that is not later than this Unix time; to the first, where all are."""
        with self._changed:
            self._wanted, self._steps = time_seconds, 0
            self._changed.notify_all()

    def step(self, steps: int = 1) -> None:
        """Go so many samples on, or back where it is less than 0; also while paused."""
        with self._changed:
            self._steps += steps
            self._changed.notify_all()

    def messages(self) -> Iterator[Sample | Jumped | Notice]:
        for kept in self._first:
            yield self._passed(kept)
        self._first = []
        while not self._closed:
            following = self._following()
            yield from self._damage()
            match self._wait(following):
                case float(wanted):
                    yield from self._jump(wanted)
                case int(steps) if steps < 0:
                    yield from self._jump(self._back(-steps))
                case _ if following is not None:
                    self._cursor.place = following.place
                    yield self._passed(following.kept)
                case _ if not self._paced:
                    return
                case _:
                    pass

    def send(self, command: Command) -> None:
        """Nothing can be asked of the past."""

    def close(self) -> str:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        # Where a file hangs, the end of the program closes it.
        if self._reading.acquire(timeout=_CLOSE_SECONDS):
            self.recording.close()
            self._reading.release()
        return ""

    def _damage(self) -> Iterator[Notice]:
        """What could not be read so far, where that has become more."""
        damage = self.recording.damage()
        if damage != self._told:
            self._told = damage
            yield Notice(damage)

    def _jump(self, time_seconds: float) -> Iterator[Sample | Jumped]:
        past = self._from(time_seconds)
        yield Jumped(max(0, len(past) - 1))
        for kept in past:
            yield self._passed(kept)

    def _passed(self, kept: Kept) -> Sample:
        self.marks = kept.marks
        self.position_seconds = kept.sample.time_seconds
        return kept.sample

    def _wait(self, following: _Following | None) -> float | int:
        """Wait until something is to be done: go to a time, or so many samples on or back."""
        came = time.monotonic()
        with self._changed:
            while not self._closed:
                if self._wanted is not None:
                    wanted, self._wanted = self._wanted, None
                    return wanted
                if self._steps:
                    steps = self._steps if self._steps < 0 else 1
                    self._steps -= steps
                    return steps
                left = self._due_seconds(following) - (time.monotonic() - came)
                if left <= 0:
                    return 1
                self._changed.wait(None if left == math.inf else left)
        return 0

    def _due_seconds(self, following: _Following | None) -> float:
        """How long after the sample before the next one is due."""
        if not self._paced:
            return 0.0
        if self._paused or following is None:
            return math.inf
        gap = following.kept.sample.time_seconds - self.position_seconds
        return min(max(0.0, gap), LONGEST_GAP_SECONDS) / self._speed

    def _following(self) -> _Following | None:
        """The next sample, where there is one; the cursor stays."""
        with self._reading:
            if self._closed:
                return None
            place = self._cursor.place
            kept = self._cursor.on()
            following = None if kept is None else _Following(kept, self._cursor.place)
            self._cursor.place = place
        if following is None or following.kept.sample.time_seconds > self._end:
            return None
        return following

    def _back(self, steps: int) -> float:
        """Unix time of the sample so many before this one."""
        wanted = self.position_seconds
        with self._reading:
            for _ in range(steps):
                kept = None if self._closed else self._cursor.back()
                if kept is None:
                    break
                wanted = kept.sample.time_seconds
        return wanted

    def _from(self, time_seconds: float) -> list[Kept]:
        """The sample of that time, after those of the minute before it; the cursor stands at it.

        Raises:
            FeedError: when nothing of the recording can be read.
        """
        with self._reading:
            if self._closed:
                return []
            there = self._cursor.seek(min(time_seconds, self._end))
            if there is None:
                raise FeedError(f"nothing of {self.recording.title} can be read: all is damaged")
            place = self._cursor.place
            past = [there]
            earliest = there.sample.time_seconds - self._warm_up
            while before := self._cursor.back():
                if not _follows(before.sample, past[-1].sample, earliest):
                    break
                past.append(before)
            self._cursor.place = place
        return past[::-1]


def _follows(before: Sample, sample: Sample, earliest: float) -> bool:
    """Whether a sample belongs to the past of the next one: not where the node or its clock jumped."""
    return (
        before.boot_id == sample.boot_id
        and earliest <= before.time_seconds
        and before.monotonic_seconds <= sample.monotonic_seconds
    )
