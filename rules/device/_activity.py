"""How much a GPU really did over the last while, whichever counters it has."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...probes.model.gpu_frames import GpuFrame
from ..history import History

ActivitySignal = Literal["sm_active_ratio", "utilization_ratio"]

BUSY_RATIO = 0.90
"""Utilization from here on is healthy, taken at its word (ours)."""
LOW_SM_RATIO = 0.35
"""SM activity under this is to be root-caused (ours)."""
_BROKEN_POWER_RATIO = 0.6


class Activity(msgspec.Struct, frozen=True):
    """Means over a window; ``None`` where nothing was read in it."""

    utilization: float | None
    sm: float | None
    """As read, where it can be believed."""
    power: float | None
    """Of the limit."""

    @property
    def signal(self) -> ActivitySignal:
        """The best there is."""
        return "utilization_ratio" if self.sm is None else "sm_active_ratio"

    @property
    def value(self) -> float | None:
        """Of that signal."""
        return self.utilization if self.sm is None else self.sm


def activity(gpu: GpuFrame, history: History, seconds: float) -> Activity:
    """Means over the last ``seconds``."""
    utilization = history.gpu(gpu.index, "utilization_ratio").mean(seconds)
    sm = history.gpu(gpu.index, "sm_active_ratio").mean(seconds)
    watts = history.gpu(gpu.index, "power_watts").mean(seconds)
    power = watts / gpu.power_limit_watts if watts is not None and gpu.power_limit_watts else None
    if gpu.sm_active_ratio is None or _counter_broken(utilization, sm, power):
        sm = None
    return Activity(utilization, sm, power)


def _counter_broken(utilization: float | None, sm: float | None, power: float | None) -> bool:
    """After Xid 31 the counter may stay at 0 while the GPU works, as power and utilization show."""
    return (
        sm == 0.0
        and utilization is not None
        and utilization >= BUSY_RATIO
        and power is not None
        and power >= _BROKEN_POWER_RATIO
    )
