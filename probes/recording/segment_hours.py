"""Segments are of one hour in UTC each, so that old ones can be thinned and removed as files."""

from __future__ import annotations

SEGMENT_SECONDS = 3600.0
THIN_AFTER_SECONDS = 3600.0
"""A segment whose end is older than that is thinned."""


def same_hour(one_seconds: float, other_seconds: float) -> bool:
    """Whether two Unix times lie in the same hour in UTC."""
    return one_seconds // SEGMENT_SECONDS == other_seconds // SEGMENT_SECONDS
