"""What healthy but awkward scenarios share: they are so from the start."""

from __future__ import annotations

from collections.abc import Callable

from ..model.gpu_readings import GpuReading
from .activity import TRAINING
from .overlays import Fields, on_gpus
from .rhythm import FOR_EVER, RANKS, Pace
from .scenario import Overlay, Scene

ALWAYS = -2000.0
ALL_RANKS = tuple(range(RANKS))
IDLE = TRAINING["idle"]
IDLE_FOR_EVER = Pace(data=FOR_EVER, work={**TRAINING, "data": IDLE})


def always(change: Callable[[GpuReading, Scene], Fields], *indices: int) -> Overlay:
    return on_gpus(change, *(indices or ALL_RANKS))
