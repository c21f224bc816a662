"""What a frame remembers of each rank: bounded, and never printed."""

from __future__ import annotations

import msgspec

from .probe_readings import SegmentReading, StepReading
from .step_statistics import NO_FIGURES, StepFigures


class PhaseMark(msgspec.Struct, frozen=True, array_like=True):
    """Where the counters of the phases stood at a moment."""

    monotonic_seconds: float
    phase_seconds: dict[str, float]


class RankHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The recent past of one training process."""

    pid: int
    start_time_seconds: float
    reading_seconds: float
    """Of the newest reading in it, on the monotonic clock."""
    steps: tuple[StepReading, ...] = ()
    """Oldest first, as everything here."""
    segments: tuple[SegmentReading, ...] = ()
    """Without gaps: each lasts until the next one begins, the last until now."""
    marks: tuple[PhaseMark, ...] = ()
    figures: StepFigures = NO_FIGURES
