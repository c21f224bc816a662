"""Which files are a recording: ``NAME-20261130T220000Z-007.gtop`` is a segment of ``NAME``."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import NamedTuple

from .format import SUFFIX

_SEGMENT = re.compile(r"(?P<name>.+)-(?P<began>\d{8}T\d{6}Z)-(?P<number>\d{3,9})\.gtop", re.DOTALL)


class SegmentName(NamedTuple):
    """A file that is named like a segment."""

    number: int
    path: Path


def segment_path(recording: Path, began_seconds: float, number: int) -> Path:
    """Where a segment lies that began then, in UTC."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(began_seconds))
    return recording.with_name(f"{recording.name}-{moment}-{number:03d}{SUFFIX}")


def segments_of(recording: Path) -> list[SegmentName]:
    """The segments of a recording, in the order in which they were begun.

    Raises:
        OSError: when its folder cannot be listed.
    """
    found: list[SegmentName] = []
    for path in recording.parent.iterdir():
        match = _SEGMENT.fullmatch(path.name)
        if match and match["name"] == recording.name:
            found.append(SegmentName(int(match["number"]), path))
    return sorted(found)
