"""Who keeps the cores busy: asked of all processes, but only while the node has no core to spare."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from ...model.host_readings import CpuUser
from ..procfs.files import read_file
from ..procfs.text import TICKS_PER_SECOND, parse_stat

BUSY_RATIO = 0.9
"""From this share of all cores on, somebody may wait for one."""
MOST = 16
LEAST_CORES = 0.05
_SCAN_SECONDS = 5.0
_MAX_LOAD = 0.002
"""Share of one core that looking may take; on nodes with very many processes it gets rarer."""
_STAT_BYTES = 1024

_Key = tuple[int, int]


class CpuUsers:
    """The processes that used most CPU between the last two looks.

    Args:
        root: of the file system with ``proc`` in it.
        clock: monotonic seconds.
    """

    def __init__(self, root: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = f"{str(root).rstrip('/')}/proc"
        self._clock = clock
        self._ticks: dict[_Key, int] = {}
        self._looked = 0.0
        self._due = 0.0
        self._busy: float | None = None
        self._total = 0.0
        self._users: tuple[CpuUser, ...] | None = None

    def read(
        self, busy_seconds: float | None, total_seconds: float | None
    ) -> tuple[CpuUser, ...] | None:
        """Those that use most, most first; ``None`` where they were not looked for.

        Args:
            busy_seconds: counter over all cores.
            total_seconds: the same with idle time.
        """
        if not self._is_busy(busy_seconds, total_seconds):
            self._ticks.clear()
            self._users = None
        elif self._clock() >= self._due:
            self._look()
        return self._users

    def _is_busy(self, busy: float | None, total: float | None) -> bool:
        before, before_total = self._busy, self._total
        self._busy, self._total = busy, total or 0.0
        if busy is None or before is None or self._total <= before_total:
            return False
        return (busy - before) / (self._total - before_total) >= BUSY_RATIO

    def _look(self) -> None:
        began = self._clock()
        seconds, self._looked = began - self._looked, began
        before, self._ticks = self._ticks, {}
        found: list[CpuUser] = []
        for name in os.listdir(self._folder):  # noqa: PTH208 - no Path per pid
            if not name.isdigit():
                continue
            try:
                stat = parse_stat(read_file(f"{self._folder}/{name}/stat", _STAT_BYTES))
            except OSError:
                continue
            if stat is None or stat.cpu_ticks is None:
                continue
            key = (int(name), stat.start_ticks)
            self._ticks[key] = stat.cpu_ticks
            if key not in before:
                continue
            cores = (stat.cpu_ticks - before[key]) / TICKS_PER_SECOND / seconds
            if cores >= LEAST_CORES:
                found.append(
                    CpuUser(
                        pid=key[0],
                        start_time_seconds=stat.start_time_seconds,
                        name=stat.name,
                        cores=cores,
                    )
                )
        self._users = tuple(sorted(found, key=lambda user: -user.cores)[:MOST]) if before else None
        self._due = began + max(_SCAN_SECONDS, (self._clock() - began) / _MAX_LOAD)
