"""A whole recording: its segments in order of time, and the samples of any span of it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from ..model.mark import Mark
from ..model.sample import WIRE_SCHEMA_VERSION, Sample
from .block import BadBlock, Entry, Head, NewerSchema, newer
from .segment import SUFFIX, Place, RecordingError, Segment

_NAMED = re.compile(r"-\d{8}T\d{6}Z-\d{3}$")


class Recording:
    """Of one file, or of all files of a name.

    Args:
        path: a segment, or the name that its segments begin with.

    Raises:
        RecordingError: where there is none.
    """

    def __init__(self, path: Path) -> None:
        files = [path] if _is_file(path) else segments_of(path)
        files = files or ([path] if path.exists() else [])
        if not files:
            raise RecordingError(f"{path}: there is no such recording")
        self._segments: list[Segment] = []
        self.unreadable: list[str] = []
        """Sentences on files, and counts of blocks, that cannot be read."""
        for file in files:
            try:
                self._segments.append(Segment(file))
            except RecordingError as error:
                if len(files) == 1:
                    raise
                self.unreadable.append(str(error))
        if not self._segments:
            raise RecordingError(self.unreadable[0])
        places = [(place, segment) for segment in self._segments for place in segment.places]
        _refuse(path, [place.head for place, _ in places])
        places.sort(key=lambda each: each[0].head.first_seconds)
        self._places: list[tuple[Place, Segment]] = places
        self._starts = [place.head.first_seconds for place, _ in places]
        for segment in self._segments:
            if segment.damaged:
                self.unreadable.append(
                    f"{segment.path}: {segment.damaged} damaged place{'s' * (segment.damaged > 1)} left out"
                )
        self.bad_blocks = 0
        """How many blocks were met since whose bytes have changed."""

    @property
    def node(self) -> str:
        """Where it was made."""
        return self._places[0][0].head.node

    @property
    def first_seconds(self) -> float:
        """Unix time of the first sample, and of the last."""
        return self._starts[0]

    @property
    def last_seconds(self) -> float:
        return max(place.head.last_seconds for place, _ in self._places)

    @property
    def count(self) -> int:
        """Of samples."""
        return sum(place.head.count for place, _ in self._places)

    def entries(self, start_seconds: float, end_seconds: float) -> Iterator[Entry]:
        """Samples and marks from the one moment to the other, both included, in order.

        Raises:
            RecordingError: where a later program wrote it.
        """
        at = max(0, bisect_right(self._starts, start_seconds) - 1)
        while at > 0 and self._places[at - 1][0].head.last_seconds >= start_seconds:
            at -= 1
        for place, segment in self._places[at:]:
            if place.head.first_seconds > end_seconds:
                return
            if place.head.last_seconds < start_seconds:
                continue
            for entry in self._read(segment, place):
                if start_seconds <= entry.time_seconds <= end_seconds:
                    yield entry

    def samples(self, start_seconds: float, end_seconds: float) -> Iterator[Sample]:
        """The samples among these."""
        for entry in self.entries(start_seconds, end_seconds):
            if isinstance(entry, Sample):
                yield entry

    def marks(self, since_seconds: float = 0.0) -> Iterator[Mark]:
        """What was found while it was made, from a moment on; of most blocks their heads tell."""
        for place, segment in self._places:
            if place.head.last_seconds < since_seconds:
                continue
            marks = place.head.marks
            if marks is None:
                marks = tuple(each for each in self._read(segment, place) if isinstance(each, Mark))
            yield from (mark for mark in marks if mark.time_seconds >= since_seconds)

    def _read(self, segment: Segment, place: Place) -> list[Entry]:
        try:
            return segment.read(place)
        except NewerSchema as error:
            raise RecordingError(f"{segment.path}: {error}") from error
        except BadBlock:
            self.bad_blocks += 1
            return []


def _refuse(path: Path, heads: list[Head]) -> None:
    """Recordings of which a part would be shown as if it were all, or two nodes as one."""
    for head in heads:
        if head.schema > WIRE_SCHEMA_VERSION:
            raise RecordingError(f"{path}: {newer(head)}")
    nodes = list(dict.fromkeys(head.node for head in heads))
    if len(nodes) > 1:
        raise RecordingError(
            f"{path} has files of several nodes ({', '.join(nodes[:3])}): name one file"
        )


def segments_of(name: Path) -> list[Path]:
    """The files of a recording of that name, in order of time."""
    try:
        found = [
            each
            for each in name.parent.glob(f"{_escaped(name.name)}-*{SUFFIX}")
            if _NAMED.fullmatch(each.stem[len(name.name) :])
        ]
    except OSError:
        return []
    return sorted(found)


def _is_file(path: Path) -> bool:
    """Whether it is there, and no folder: one may bear the same name as a recording beside it."""
    return path.exists() and not path.is_dir()


def _escaped(text: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", text)
