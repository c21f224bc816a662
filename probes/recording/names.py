"""Which files are a recording: ``NAME-20261130T220000Z-007.gtop`` is a segment of ``NAME``."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from .format import SUFFIX

_SEGMENT = re.compile(r"(?P<name>.+)-(?P<began>\d{8}T\d{6}Z)-(?P<number>\d{3,9})\.gtop", re.DOTALL)
_MOMENT = "%Y%m%dT%H%M%SZ"


class SegmentName(NamedTuple):
    """A file that is named like a segment."""

    number: int
    path: Path
    began_seconds: float
    """Unix time of its first sample."""


def moment(seconds: float) -> str:
    """A Unix time as it stands in names: in UTC."""
    return time.strftime(_MOMENT, time.gmtime(seconds))


def segment_path(recording: Path, began_seconds: float, number: int) -> Path:
    """Where a segment lies that began then."""
    return recording.with_name(f"{recording.name}-{moment(began_seconds)}-{number:03d}{SUFFIX}")


def segments_of(recording: Path) -> list[SegmentName]:
    """The segments of a recording, in the order in which they were begun.

    Raises:
        OSError: when its folder cannot be listed.
    """
    found: list[SegmentName] = []
    for path in recording.parent.iterdir():
        match = _SEGMENT.fullmatch(path.name)
        if match and match["name"] == recording.name:
            found.append(SegmentName(int(match["number"]), path, _began(match["began"])))
    return sorted(found)


def _began(text: str) -> float:
    try:
        began = datetime.strptime(text, _MOMENT).replace(tzinfo=UTC)
    except ValueError:
        return 0.0
    return began.timestamp()
