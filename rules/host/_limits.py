"""How old a reading of what a process may have only so much of may be: it is read seldom."""

from __future__ import annotations

from ...probes.model.frame import Frame
from ...probes.model.process_readings import LimitsReading

_FRESH_SECONDS = 30.0


def too_old(limits: LimitsReading, frame: Frame) -> str:
    """Why nothing is concluded from it, or "" where it is fresh."""
    age = frame.monotonic_seconds - limits.monotonic_seconds
    return f"last read {age:.0f} s ago" if age > _FRESH_SECONDS else ""
