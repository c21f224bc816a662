"""Which processes are worth reading: those on a GPU and those asked for. Shared by the sources."""

from __future__ import annotations

import threading
from collections.abc import Iterable


class Watchlist:
    """The pids that are watched. Any thread may write, any thread may read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_gpu: dict[int, frozenset[int]] = {}
        self._attached: frozenset[int] = frozenset()
        self._ranks: dict[int, float] = {}

    def set_gpu(self, index: int, pids: Iterable[int]) -> None:
        """These pids are on that GPU now."""
        with self._lock:
            self._by_gpu[index] = frozenset(pids)

    def attach(self, pid: int) -> None:
        """Watch this process and its tree too."""
        with self._lock:
            self._attached |= {pid}

    def detach(self, pid: int) -> None:
        """The opposite of `attach`; an unknown pid is no error."""
        with self._lock:
            self._attached -= {pid}

    def set_ranks(self, ranks: dict[int, float]) -> None:
        """These are the training processes among all that are read: pid → start time."""
        with self._lock:
            self._ranks = ranks

    def ranks(self) -> dict[int, float]:
        """What was set last."""
        with self._lock:
            return self._ranks

    def by_gpu(self) -> dict[int, frozenset[int]]:
        """NVML index → pids on that GPU."""
        with self._lock:
            return dict(self._by_gpu)

    def attached(self) -> frozenset[int]:
        """What was asked for."""
        with self._lock:
            return self._attached

    def pids(self) -> frozenset[int]:
        """Every process that is watched, for whatever reason."""
        with self._lock:
            return self._attached.union(*self._by_gpu.values())
