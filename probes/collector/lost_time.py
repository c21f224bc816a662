"""How much of its time a collector was not run, seen from its own thread."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from ..model.starvation import Starvation
from ..scheduling.thread_wait import ThreadWait
from ..scheduling.words import load_and_cores

LOOK_SECONDS = 0.05
_WORTH_TELLING_SECONDS = 0.25
_WORTH_TELLING_RATIO = 0.25
_STOPPED_SECONDS = 1.0
"""By so much a thread that was not runnable wakes too late only where it was stopped."""


class LostTime:
    """What the collector's own thread lost, between looks and between samples.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._wait = ThreadWait(os.getpid(), threading.get_native_id())
        self._thread = threading.get_native_id()
        self._looked = self._told = clock()
        self._late = 0.0
        self._away = 0.0
        self._ran = time.thread_time()
        self._lost = 0.0
        self._stopped = 0.0

    def waited(self, meant: float, seconds: float) -> None:
        """It waited for so long, which is longer than it meant to where it was not run."""
        self._late += max(0.0, seconds - meant)
        self._away += seconds

    def away(self, seconds: float) -> None:
        """It was with whoever takes its samples, who may be slow himself."""
        self._away += seconds

    def look(self, *, now: bool) -> tuple[float, float] | None:
        """Seconds since the last look, and how many of them were lost; ``None`` where that was just now."""
        moment = self._clock()
        elapsed = moment - self._looked
        if elapsed < LOOK_SECONDS and not now:
            return None
        self._looked = moment
        waited = self._own().look(elapsed)
        late = min(elapsed, self._late + self._unexplained(elapsed, waited))
        self._late = self._away = 0.0
        if late - waited >= _STOPPED_SECONDS:
            self._stopped += late - waited
        return elapsed, max(late, waited)

    def _unexplained(self, elapsed: float, waited: float) -> float:
        """Seconds in which it neither ran nor waited for anything: it was stopped in the midst of its work."""
        before, self._ran = self._ran, time.thread_time()
        idle = elapsed - self._away - waited - (self._ran - before)
        return idle if idle >= _STOPPED_SECONDS else 0.0

    def add(self, seconds: float) -> None:
        """So much was lost since the look before: by this thread, or by one that it waited for."""
        self._lost += seconds

    def since_last(self) -> Starvation | None:
        """All since this was asked last; ``None`` where it is not worth a word."""
        now = self._clock()
        elapsed, lost, stopped = now - self._told, self._lost, self._stopped
        self._told, self._lost, self._stopped = now, 0.0, 0.0
        if lost < max(_WORTH_TELLING_SECONDS, _WORTH_TELLING_RATIO * elapsed):
            return None
        load, cores = load_and_cores()
        return Starvation(
            seconds=max(0.0, lost - stopped), stopped_seconds=stopped, load=load, cores=cores
        )

    def _own(self) -> ThreadWait:
        """Of the thread that runs the collector, which need not be the one that made it."""
        thread = threading.get_native_id()
        if thread != self._thread:
            self._thread, self._wait = thread, ThreadWait(os.getpid(), thread)
            self._ran = time.thread_time()
        return self._wait
