"""What is removed of a recording, so that it stays within what it was given: its oldest segments."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import NamedTuple

from .names import SegmentName, segments_of
from .segment_hours import SEGMENT_SECONDS

LEAST_SEGMENT_BYTES = 1 << 20
_SHARE = 8
"""A segment is at most such a part of a recording, or removing one would take too much with it."""


class Limits(NamedTuple):
    """What a recording may take; ``None``: as much as there is."""

    max_bytes: int | None = None
    keep_seconds: float | None = None

    @property
    def segment_bytes(self) -> float:
        """A longer segment is ended."""
        if self.max_bytes is None:
            return float("inf")
        return max(LEAST_SEGMENT_BYTES, self.max_bytes // _SHARE)


def remove_oldest(recording: Path, limits: Limits, now_seconds: float, current: Path | None) -> int:
    """Remove what is too old or too much, and say how many bytes are left.

    Args:
        recording: its name, with its folder.
        limits: what it may take.
        now_seconds: Unix time.
        current: the segment that is being written, which stays.

    Raises:
        OSError: when something cannot be listed or removed.
    """
    segments = [each for each in segments_of(recording) if _is_file(each.path)]
    sizes = {each.path: each.path.stat().st_size for each in segments}
    left = sum(sizes.values())
    for segment in segments:
        if segment.path == current:
            continue
        if _too_old(segment, limits, now_seconds) or left > (limits.max_bytes or left):
            segment.path.unlink(missing_ok=True)
            left -= sizes[segment.path]
    return left


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _too_old(segment: SegmentName, limits: Limits, now_seconds: float) -> bool:
    if limits.keep_seconds is None:
        return False
    return segment.began_seconds + SEGMENT_SECONDS < now_seconds - limits.keep_seconds
