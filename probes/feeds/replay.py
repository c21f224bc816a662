"""A recording as a feed: its past at once, then sample by sample at the pace that was asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from ..model.mark import Mark
from ..model.sample import Sample
from ..recording.recording import Recording
from ..recording.segment import RecordingError
from ..wire.command import Command
from .protocol import FeedError, Notice

PAST_SECONDS = 60.0
"""So much before the moment that is shown is judged first: what lasts needs its time to count."""
_LONGEST_PAUSE_SECONDS = 5.0
"""Of a gap in the recording no more is waited for."""
_NEXT_SECONDS = 1.0
LEAST_SPEED, MOST_SPEED = 0.1, 100.0


class ReplayFeed:
    """Plays a recording; nothing in it can be signalled or asked, but one can move in it.

    Args:
        recording: what is played.
        at_seconds: Unix time of the first moment that is shown.
        past_seconds: how much before a moment comes first, at once.
        speed: how many of its seconds pass in one; 0: nothing comes after that moment, and the feed ends.
    """

    simulated = True

    def __init__(
        self,
        recording: Recording,
        at_seconds: float,
        *,
        past_seconds: float = PAST_SECONDS,
        speed: float = 0.0,
    ) -> None:
        self.recording = recording
        self.marks: tuple[Mark, ...] | None = None
        """Of findings that one can go to; ``None``: those that were found while it was recorded."""
        self._past = past_seconds
        self._now = at_seconds
        self._target: float | None = at_seconds
        self.speed = speed
        self.paused = False
        self._closed = False
        self._wake = threading.Event()
        self.title = f"replay of {recording.node}"
        self.past_samples = 0

    @property
    def pids(self) -> tuple[int, ...]:
        return ()

    def pause(self) -> bool:
        """Stand still, or go on; whether it stands still now."""
        self.paused = not self.paused
        self._wake.set()
        return self.paused

    def seek(self, seconds: float) -> float:
        """Go so far back or on; returns the Unix time that is shown then."""
        target = (self._now if self._target is None else self._target) + seconds
        self._target = min(self.recording.last_seconds, max(self.recording.first_seconds, target))
        self._wake.set()
        return self._target

    def seek_finding(self) -> str:
        """Go to where the next finding began; its words, empty where there is none."""
        now = self._now if self._target is None else self._target
        for mark in self.recording.marks(now) if self.marks is None else self.marks:
            if mark.began and mark.time_seconds > now + _NEXT_SECONDS:
                self.seek(mark.time_seconds - now)
                return f"{mark.rule} {mark.name}, {mark.subject}"
        return ""

    def set_speed(self, factor: float) -> float:
        """So many times as fast; returns how fast that is."""
        self.speed = min(MOST_SPEED, max(LEAST_SPEED, self.speed * factor))
        self._wake.set()
        return self.speed

    def messages(self) -> Iterator[Sample | Notice]:
        try:
            yield from self._messages()
        except RecordingError as error:
            raise FeedError(str(error)) from error

    def send(self, command: Command) -> None:
        """Nobody is there who could do it."""

    def close(self) -> str:
        self._closed = True
        self._wake.set()
        return ""

    def _messages(self) -> Iterator[Sample | Notice]:
        for sentence in self.recording.unreadable:
            yield Notice(sentence)
        while not self._closed:
            if self._target is not None:
                yield from self._jump()
                if not self.speed:
                    return
            yield from self._play()
            if not self._closed and self._target is None:
                yield Notice("the recording ends here")
                self._wait(None)

    def _jump(self) -> Iterator[Sample]:
        """All of the past of the moment at once, so that it is judged with what went before."""
        target, self._target = self._target, None
        if target is None:
            return
        self._now = target
        for sample in self.recording.samples(target - self._past, target):
            if self._closed:
                return
            yield sample

    def _play(self) -> Iterator[Sample]:
        """From now on, until it is moved or ends."""
        for sample in self.recording.samples(self._now, self.recording.last_seconds):
            if sample.time_seconds <= self._now:
                continue
            self._wait(sample.time_seconds - self._now)
            if self._closed or self._target is not None:
                return
            self._now = sample.time_seconds
            yield sample

    def _wait(self, seconds: float | None) -> None:
        """Until so many seconds of the recording have passed; ``None``: until it is moved."""
        left = seconds
        while not self._closed and self._target is None and (left is None or left > 0):
            self._wake.clear()
            still = left is None or self.paused
            began, speed = time.monotonic(), self.speed
            pause = None if still else min((left or 0.0) / speed, _LONGEST_PAUSE_SECONDS)
            if not self._wake.wait(pause):
                return
            if left is not None and not still:
                left -= (time.monotonic() - began) * speed
