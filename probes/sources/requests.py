"""Of which processes somebody wants to have a closer look, and until when."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

LONGEST_WISH_SECONDS = 60.0
_MOST = 256


class Requests:
    """Pids, each until its time has run out. Any thread may write and read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[int, float] = {}

    def want(self, pids: Iterable[int], seconds: float) -> bool:
        """From now on, for so many seconds; 0: no more. Whether any of them was not wanted before."""
        now = time.monotonic()
        until = now + min(seconds, LONGEST_WISH_SECONDS)
        new = False
        with self._lock:
            self._forget(now)
            for pid in list(pids)[:_MOST]:
                if seconds <= 0:
                    self._until.pop(pid, None)
                    continue
                new |= self._until.get(pid, 0.0) <= now
                self._until[pid] = max(until, self._until.get(pid, 0.0))
        return new

    def wanted(self, now: float) -> list[int]:
        """Those whose time has not run out."""
        with self._lock:
            self._forget(now)
            return list(self._until)

    def _forget(self, now: float) -> None:
        self._until = {pid: until for pid, until in self._until.items() if until > now}
