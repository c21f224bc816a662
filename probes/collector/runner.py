"""One source on a thread of its own: the edge at which hanging and raising become a status."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from queue import SimpleQueue

from ..model.sample import SourceState, SourceStatus
from ..scheduling.process_limit import SENTENCE
from ..scheduling.thread_wait import ThreadWait
from ..scheduling.words import starved_sentence
from ..sources.protocol import Part, Source, SourceError, failure_words
from .sound import sound


class SourceRunner:
    """Reads its source each time it is asked to, unless the last read is still going on.

    Args:
        source: used from this runner's thread alone.
        kinds: of readings that it may give; others are refused here, where they enter.
        finished: called on that thread after each read.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        source: Source,
        kinds: frozenset[type[Part]],
        finished: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self.name = source.name
        self._source = source
        self._kinds = kinds
        self._finished = finished
        self._clock = clock
        self._lock = threading.Lock()
        self._wanted: SimpleQueue[None] = SimpleQueue()
        self._began: float | None = None
        self._rests_until = 0.0
        self._parts: tuple[Part, ...] = ()
        self._read_at: float | None = None
        self._duration: float | None = None
        self._state: SourceState = "stale"
        self._reason = "not read yet"
        self._starved = 0.0
        """Seconds of the read in progress in which it could not go on for want of a core."""
        self._wait: ThreadWait | None = None
        # A daemon, since a read that hangs in the kernel cannot be ended, and must not hold the end.
        self._thread = threading.Thread(target=self._run, name=source.name, daemon=True)
        self._runs = self._started()

    @property
    def resting(self) -> bool:
        """It can have no news yet."""
        return self._clock() < self._rests_until

    @property
    def busy(self) -> bool:
        """A read is going on."""
        return self._began is not None

    def ask(self) -> None:
        """Read once more, soon. Nothing happens where the last read is still going on."""
        self._runs = self._runs or self._started()
        if not self._runs:
            self._finished()
            return
        with self._lock:
            if self._began is not None:
                return
            self._began = self._clock()
            self._starved = 0.0
            self._wait = None
        self._wanted.put(None)

    def _started(self) -> bool:
        """Start its thread; where a limit forbids one, the next time it is asked may be better."""
        try:
            self._thread.start()
        except RuntimeError:
            self._state, self._reason = "failed", SENTENCE
            return False
        return True

    def lose(self, elapsed: float, lost: float) -> float:
        """Take off what a read in progress did not have of the time since the last look.

        Only the collector's own thread calls this. What was before its first look at a read is not
        known of its thread: of a read that is done in good time nobody asks.

        Args:
            elapsed: seconds since the last look.
            lost: those of them in which the whole collector was not run.

        Returns:
            Seconds in which this read could not go on.
        """
        began, wait = self._began, self._wait
        if began is None or self._thread.native_id is None:
            return 0.0
        if wait is None:
            self._wait = ThreadWait(os.getpid(), self._thread.native_id)
        else:
            lost = max(lost, wait.look(elapsed))
        with self._lock:
            if self._began != began:
                return 0.0
            self._starved = min(self._starved + lost, self._clock() - began)
        return lost

    def newest(self) -> tuple[tuple[Part, ...], SourceStatus]:
        """The last good reading, however old, and how the source fares."""
        with self._lock:
            began, starved = self._began, self._starved
            busy = None if began is None else max(0.0, self._clock() - began - starved)
            return self._parts, SourceStatus(
                name=self.name,
                status="stale" if busy is not None else self._state,
                reason=self._reason if busy is None else _why_late(busy, starved),
                monotonic_seconds=self._read_at,
                duration_seconds=self._duration,
                busy_seconds=busy,
                starved_seconds=None if busy is None else starved,
            )

    def _run(self) -> None:
        while True:
            self._wanted.get()
            self._read()
            self._finished()

    def _read(self) -> None:
        began = self._clock()
        parts: tuple[Part, ...] | None = None
        state: SourceState = "ok"
        reason = ""
        try:
            given = self._source.read()
            refused = {type(part) for part in given} - self._kinds
            parts, reason = sound([part for part in given if type(part) not in refused])
            if reason and not parts:  # all that it gave; what was read before stays, and grows old
                parts, state = None, "failed"
            if refused:
                state, reason = "failed", _refusal(refused)
        except SourceError as error:
            state, reason = error.status, error.reason
        except (
            BaseException
        ) as error:  # SystemExit too would end this thread, and leave it busy for ever
            import logging  # nothing fails in a usual start

            logging.getLogger(__name__).exception("source %s failed", self.name)
            state, reason = "failed", failure_words(error)
        with self._lock:
            if parts is not None:
                self._parts, self._read_at = parts, self._clock()
            self._state, self._reason = state, reason
            now = self._clock()
            self._duration = now - began
            self._rests_until = now + getattr(self._source, "rest_seconds", 0.0)
            self._began = None


def _why_late(busy: float, starved: float) -> str:
    """Who is to blame for it that no answer has come."""
    return starved_sentence() if starved > busy else f"no answer for {busy:.0f} s"


def _refusal(kinds: Iterable[type[Part]]) -> str:
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    return f"it gave what its line in the registry of sources does not name: {names}"
