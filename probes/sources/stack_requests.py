"""Of which processes somebody wants to see the stacks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

LONGEST_WISH_SECONDS = 60.0
_MOST = 256


class StackRequests:
    """Of which processes stacks are wanted, and until when. Any thread may write and read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[int, float] = {}
        self._shares_until: dict[int, float] = {}

    def want(self, pids: Iterable[int], seconds: float, *, shares: bool = False) -> bool:
        """From now on, for so many seconds; 0: no more. Whether any of them was not wanted before.

        Args:
            pids: of whom.
            seconds: for how long.
            shares: sample them too.
        """
        now = time.monotonic()
        until = now + min(seconds, LONGEST_WISH_SECONDS)
        new = False
        with self._lock:
            if seconds <= 0:
                for pid in pids:
                    self._until.pop(pid, None)
                    self._shares_until.pop(pid, None)
                return False
            for pid in list(pids)[:_MOST]:
                new |= self._until.get(pid, 0.0) <= now
                self._until[pid] = max(until, self._until.get(pid, 0.0))
                if shares:
                    self._shares_until[pid] = self._until[pid]
        return new

    def wanted(self, now: float) -> list[int]:
        """Those whose time has not run out."""
        with self._lock:
            self._until = {pid: until for pid, until in self._until.items() if until > now}
            return list(self._until)

    def shares_wanted(self, now: float) -> list[int]:
        """Those of which shares are wanted too."""
        with self._lock:
            return [pid for pid, until in self._shares_until.items() if until > now]
