"""An old file of a recording made smaller: of ten seconds one sample, and every one around a finding.

No phase span is lost: the steps and phases of samples that go are added to the next one that stays.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from ..model.mark import Mark
from ..model.probe_readings import ProbeReading, SegmentReading, StepReading
from ..model.reading import Key, key_of
from ..model.sample import Sample
from .block import BadBlock, Entry, encode
from .segment import Place, RecordingError, Segment, SegmentWriter

KEPT_EACH_SECONDS = 10.0
BEFORE_SECONDS, AFTER_SECONDS = 120.0, 60.0
_EARLY_SECONDS = 0.5
"""Samples are not quite on time."""
_SAMPLES = 60
"""In a block."""
_Span = TypeVar("_Span", StepReading, SegmentReading)


class Window(NamedTuple):
    """A time of which every sample stays; Unix time, both ends included."""

    start: float
    end: float


def windows_of(marks: Iterable[Mark]) -> list[Window]:
    """Around the moments at which findings began."""
    return [
        Window(mark.time_seconds - BEFORE_SECONDS, mark.time_seconds + AFTER_SECONDS)
        for mark in marks
        if mark.began
    ]


def marks_of(segment: Segment) -> Iterator[Mark]:
    """All marks of a file."""
    for place in segment.places:
        if place.head.marks is not None:
            yield from place.head.marks
        else:
            yield from (each for each in _entries(segment, place) if isinstance(each, Mark))


def is_thinned(segment: Segment) -> bool:
    """Whether that was done already."""
    return all(place.head.thinned for place in segment.places)


def thinned(segment: Segment, windows: Sequence[Window]) -> Generator[None, None, None]:
    """Replace a file by its thinned self, at most ten samples at each step.

    Args:
        segment: which nobody writes any more; who reads it goes on with what it was.
        windows: of which every sample stays.

    Raises:
        RecordingError: when the new one cannot be written; the old one stays then.
    """
    beside = segment.path.with_name(f".{segment.path.name}.thinned")
    try:
        beside.unlink(missing_ok=True)  # of one that was killed
    except OSError as error:
        raise RecordingError(f"{beside}: {error.strerror}") from error
    writer = SegmentWriter(beside)
    try:
        for entries in _blocks(segment, windows):
            if entries:
                writer.append(encode(entries, thinned=True))
            yield
        writer.replace(segment.path)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


def _blocks(segment: Segment, windows: Sequence[Window]) -> Iterator[list[Entry]]:
    """The entries of the new blocks; an empty list where an old one was read and no new one is full."""
    kept: list[Entry] = []
    samples = 0
    spans = _Spans()
    last_kept = float("-inf")
    for number, place in enumerate(segment.places):
        end = place.head.last_seconds if number == len(segment.places) - 1 else None
        for entry in _entries(segment, place):
            if isinstance(entry, Mark):
                kept.append(entry)
                continue
            now = entry.time_seconds
            passed = now - last_kept
            if (
                0 <= passed < KEPT_EACH_SECONDS - _EARLY_SECONDS
                and now != end
                and not any(window.start <= now <= window.end for window in windows)
            ):
                spans.take(entry)
                continue
            last_kept = now
            kept.append(spans.added(entry))
            samples += 1
            if samples >= _SAMPLES:
                yield kept
                kept, samples = [], 0
        yield []
    if samples:
        yield kept


def _entries(segment: Segment, place: Place) -> list[Entry]:
    """What is in a block; nothing where it is damaged."""
    try:
        return segment.read(place)
    except BadBlock:
        return []


class _Spans:
    """Steps and phases of the samples that went."""

    def __init__(self) -> None:
        self._waiting: dict[Key, tuple[tuple[StepReading, ...], tuple[SegmentReading, ...]]] = {}

    def take(self, sample: Sample) -> None:
        """Remember those of a sample that goes."""
        for probe in sample.probes:
            steps, segments = self._waiting.get(key_of(probe), ((), ()))
            self._waiting[key_of(probe)] = (
                _joined(steps, probe.steps),
                _joined(segments, probe.segments),
            )

    def added(self, sample: Sample) -> Sample:
        """A sample that stays, with them."""
        if not self._waiting:
            return sample
        probes = tuple(self._with(probe) for probe in sample.probes)
        self._waiting.clear()
        return replace(sample, probes=probes)

    def _with(self, probe: ProbeReading) -> ProbeReading:
        steps, segments = self._waiting.get(key_of(probe), ((), ()))
        return replace(
            probe,
            steps=_joined(steps, probe.steps),
            segments=_joined(segments, probe.segments),
        )


def _joined(before: tuple[_Span, ...], after: tuple[_Span, ...]) -> tuple[_Span, ...]:
    """Both in order; what is told twice, as it was told last."""
    if not before or not after or before == after:
        return after or before
    spans = {_key(span): span for span in before}
    spans.update((_key(span), span) for span in after)
    return tuple(spans.values())


def _key(span: StepReading | SegmentReading) -> float:
    """Of a step its number, of a phase its beginning."""
    return span.number if isinstance(span, StepReading) else span.monotonic_seconds
