"""A deadline that counts only the time in which an answer was possible.

A starved process looks like one that hangs: it says nothing. What tells them apart is the scheduler:
who waits for a core is runnable, who hangs in a driver is not.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from .thread_wait import ThreadWait

_STARVED_RATIO = 0.5
_WORTH_SECONDS = 0.5


class Patience:
    """How long some processes had to answer, and how long they were not run.

    Look every second or so: of a thread that was not looked at before, nothing is known.

    Args:
        pids: of the processes that answer depends on, this one included where it does.
        clock: monotonic seconds.
        root: where ``proc`` is.
    """

    def __init__(
        self,
        *pids: int,
        clock: Callable[[], float] = time.monotonic,
        root: Path = Path("/"),
    ) -> None:
        self._pids = pids
        self._clock = clock
        self._root = root
        self._threads: dict[tuple[int, int], ThreadWait] = {}
        self._looked = clock()
        self.waited_seconds = 0.0
        """In which an answer was possible."""
        self.starved_seconds = 0.0
        """In which one of them was runnable and did not run, or this process was late itself."""
        self._take_up()

    @property
    def starved(self) -> bool:
        """Whether most of the time was lost: then silence means nothing."""
        if self.starved_seconds < _WORTH_SECONDS:
            return False
        return self.starved_seconds > _STARVED_RATIO * (self.starved_seconds + self.waited_seconds)

    def again(self) -> None:
        """An answer has come: count from now on."""
        self.look()
        self.waited_seconds = self.starved_seconds = 0.0

    def sleep(self, seconds: float) -> None:
        """Sleep, and take in how long that took."""
        time.sleep(seconds)
        self.look(seconds)

    def look(self, meant_seconds: float | None = None) -> None:
        """Take in the time since the last look.

        Args:
            meant_seconds: that this process meant to let pass; what is more, it was not run, as
                where it was stopped.
        """
        now = self._clock()
        elapsed, self._looked = max(0.0, now - self._looked), now
        late = 0.0 if meant_seconds is None else max(0.0, elapsed - meant_seconds)
        waits = [thread.look(elapsed) for thread in self._threads.values()]
        lost = min(elapsed, max(late, *waits, 0.0))
        self.starved_seconds += lost
        self.waited_seconds += elapsed - lost
        self._take_up()

    def _take_up(self) -> None:
        """The threads that there are now."""
        there = {(pid, tid) for pid in self._pids for tid in self._tids(pid)}
        self._threads = {
            key: self._threads.get(key) or ThreadWait(*key, root=self._root) for key in there
        }

    def _tids(self, pid: int) -> list[int]:
        try:
            return [int(name) for name in os.listdir(self._root / f"proc/{pid}/task")]  # noqa: PTH208
        except OSError:
            return []
