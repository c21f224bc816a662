"""Of which processes somebody wants to see the stacks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

LONGEST_WISH_SECONDS = 60.0
_MOST = 256


class StackWishes:
    """Of which processes stacks are wanted, and until when. Any thread may write and read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[int, float] = {}

    def want(self, pids: Iterable[int], seconds: float) -> None:
        """From now on, for so many seconds; 0: no more."""
        until = time.monotonic() + min(seconds, LONGEST_WISH_SECONDS)
        with self._lock:
            if seconds <= 0:
                for pid in pids:
                    self._until.pop(pid, None)
                return
            for pid in list(pids)[:_MOST]:
                self._until[pid] = max(until, self._until.get(pid, 0.0))

    def wanted(self, now: float) -> list[int]:
        """Those whose time has not run out."""
        with self._lock:
            self._until = {pid: until for pid, until in self._until.items() if until > now}
            return list(self._until)
