"""How busy single CPUs are: one that is full, or drowns in interrupts, is lost in the mean of all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...model.host_readings import CpuLoad
from .text import OneCpu

FULL_RATIO = 0.95
MOST_BUSY = 3
_WINDOW_SECONDS = 5.0
"""A node may have hundreds of CPUs, each with a line: so they are not read each second."""


class CpuLoads(NamedTuple):
    """Over the last seconds."""

    full: int
    loads: tuple[CpuLoad, ...]


class CpuLoadMeter:
    """Compares what the CPUs have done with some seconds before.

    Args:
        counters: those of each CPU; ``None`` where they are not to be had.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        counters: Callable[[], Mapping[int, OneCpu] | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._counters = counters
        self._clock = clock
        self._before: Mapping[int, OneCpu] = {}
        self._due = 0.0
        self._found: CpuLoads | None = None

    def read(self) -> CpuLoads | None:
        """``None`` where there are no two looks to compare yet."""
        now = self._clock()
        if now < self._due:
            return self._found
        self._due = now + _WINDOW_SECONDS
        before, self._before = self._before, self._counters() or {}
        loads = [
            _load(number, before[number], after)
            for number, after in self._before.items()
            if number in before
        ]
        known = [load for load in loads if load is not None]
        self._found = _told(known) if known else None
        return self._found


def _told(loads: Sequence[CpuLoad]) -> CpuLoads:
    by_load = sorted(loads, key=lambda load: -load.busy_ratio)[:MOST_BUSY]
    interrupted = max(loads, key=lambda load: load.interrupt_ratio)
    full = sum(load.busy_ratio >= FULL_RATIO for load in loads)
    return CpuLoads(full, tuple({load.number: load for load in (*by_load, interrupted)}.values()))


def _load(number: int, before: OneCpu, after: OneCpu) -> CpuLoad | None:
    """``None`` where it was off meanwhile, or a counter went back."""
    busy, interrupts, total = (now - then for now, then in zip(after, before, strict=True))
    if not 0 <= interrupts <= busy <= total or total == 0:
        return None
    return CpuLoad(number=number, busy_ratio=busy / total, interrupt_ratio=interrupts / total)
