"""How long a thread was runnable and did not run, as the kernel's scheduler counts it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import NamedTuple

_NANOSECONDS = 1e9


class _Counted(NamedTuple):
    ran: int
    waited: int


class ThreadWait:
    """One thread, from look to look.

    The kernel adds a wait to its counter only once it is over. A thread that waits for a core right
    now shows as runnable with counters that stand still; that time is counted at once, and taken off
    again when the counter comes to tell of it.

    Args:
        pid: of its process.
        tid: of the thread.
        root: where ``proc`` is.
    """

    def __init__(self, pid: int, tid: int, root: Path = Path("/")) -> None:
        self._tid = tid
        self._folder = f"{root}/proc/{pid}/task/{tid}".replace("//", "/")
        self._last = self._counted()
        self._ahead = 0.0
        """Seconds of the present wait that were counted before the kernel did."""

    def look(self, elapsed: float) -> float:
        """Of the ``elapsed`` seconds since the last look, those in which it waited for a core.

        0 where the kernel does not count it.
        """
        last, self._last = self._last, self._counted()
        if last is None or self._last is None:
            self._ahead = 0.0
            return 0.0
        if self._last == last:
            if not self._runnable():
                return 0.0
            self._ahead += elapsed
            return elapsed
        waited = (self._last.waited - last.waited) / _NANOSECONDS - self._ahead
        self._ahead = 0.0
        return min(elapsed, max(0.0, waited))

    def _counted(self) -> _Counted | None:
        try:
            with open(f"{self._folder}/schedstat", "rb") as file:  # noqa: PTH123 - a third of the cost
                ran, waited, *_ = file.read().split()
            return _Counted(int(ran), int(waited))
        except (OSError, ValueError):
            return None

    def _runnable(self) -> bool:
        if self._tid == threading.get_native_id():
            return False  # it runs: it is the one that asks
        try:
            with open(f"{self._folder}/stat", "rb") as file:  # noqa: PTH123 - as above
                return file.read().rpartition(b")")[2].split()[:1] == [b"R"]
        except OSError:
            return False
