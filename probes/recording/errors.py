"""What is wrong with a recording. Each text is one sentence for people."""

from __future__ import annotations


class RecordingError(Exception):
    """It cannot be read, or not be written."""


class DamagedBlock(RecordingError):
    """One block is not what was written; those beside it may be."""


def reason(error: OSError) -> str:
    """Why the system refuses, in its own words."""
    return (error.strerror or str(error)).lower()
