"""An old segment made smaller: of ten seconds one sample, and everything around a finding.

No phase span is lost: the steps and phases of samples that go are added to the next one that stays.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..model.sample import Sample
from .block import Block, BlockBuilder
from .errors import DamagedBlock
from .format import THINNED
from .marks import ACTIVE, Changes, Event
from .open_file import create, open_to_read, sync_folder, write_all
from .scan import Place, read_data, scan

KEEP_EVERY_SECONDS = 10.0
SAMPLES_PER_BLOCK = 60
BEFORE_SECONDS, AFTER_SECONDS = 120.0, 60.0
LONGEST_SINCE_SECONDS = 300.0
"""A condition may have begun hours before it was judged; what counts is its end of that time."""
_SPANS = ("steps", "segments")
"""Of a probe's reading: what is new since the sample before."""


class Window(NamedTuple):
    """A time of which every sample is kept; Unix time."""

    begin: float
    end: float


def windows_of(events: Sequence[Event]) -> list[Window]:
    """Around the moments at which findings became active."""
    return [
        Window(
            max(event.since_seconds, event.time_seconds - LONGEST_SINCE_SECONDS) - BEFORE_SECONDS,
            event.time_seconds + AFTER_SECONDS,
        )
        for event in events
        if event.state == ACTIVE
    ]


def events_in(path: Path) -> list[Event]:
    """The events of a segment, which its heads tell.

    Raises:
        OSError, RecordingError: when it cannot be read.
    """
    descriptor = open_to_read(path)
    try:
        return [event for place in scan(descriptor).places for event in place.head.events]
    finally:
        os.close(descriptor)


def is_thinned(path: Path) -> bool:
    """Whether that was done already.

    Raises:
        OSError, RecordingError: when it cannot be read.
    """
    descriptor = open_to_read(path)
    try:
        return all(place.said.flags & THINNED for place in scan(descriptor).places)
    finally:
        os.close(descriptor)


def thinned(path: Path, windows: Sequence[Window]) -> Generator[None, None, None]:
    """Rewrite a segment, a block at each step; what reads the old one meanwhile goes on with it.

    Args:
        path: the segment, which nobody writes any more.
        windows: of which every sample is kept.

    Raises:
        OSError, RecordingError: when it cannot be read, or the new one not be written.
    """
    beside = path.with_name(f".{path.name}.thinned")
    source = open_to_read(path)
    target = -1
    try:
        beside.unlink(missing_ok=True)  # of one that was killed
        target = create(beside)
        for block in _blocks(source, windows):
            if block:
                write_all(target, block)
            yield
        os.fsync(target)
        beside.rename(path)
        with contextlib.suppress(OSError):
            sync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    finally:
        os.close(source)
        if target >= 0:
            os.close(target)


def _blocks(source: int, windows: Sequence[Window]) -> Iterator[bytes]:
    """The new blocks; an empty one where an old one was read and no new one is full yet."""
    places = scan(source).places
    builder = BlockBuilder(Changes(), thinned=True)
    spans = _Spans()
    kept_seconds = float("-inf")
    for position, place in enumerate(places):
        last_block = position == len(places) - 1
        try:
            block = Block(place.said, read_data(source, place))
        except DamagedBlock:
            continue
        builder.simulated = place.head.simulated
        for number, seconds in enumerate(block.times):
            last = last_block and number == len(block) - 1
            stays = (
                last
                or not 0 <= seconds - kept_seconds < KEEP_EVERY_SECONDS - 0.5
                or any(window.begin <= seconds <= window.end for window in windows)
                or _has_event(place, seconds)
            )
            if not stays:
                spans.take(block, number)
                continue
            kept_seconds = seconds
            sample = spans.added(block.fields(number))
            if builder.begins is not None and builder.begins.boot_id != sample.boot_id:
                yield builder.finish()
            builder.add(sample, block.marks(number))
            if len(builder) >= SAMPLES_PER_BLOCK or builder.full:
                yield builder.finish()
        yield b""
    if len(builder):
        yield builder.finish()


def _has_event(place: Place, seconds: float) -> bool:
    return any(event.time_seconds == seconds for event in place.head.events)


class _Spans:
    """Steps and phases of samples that went."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[int, float], dict[str, list[Any]]] = {}

    def take(self, block: Block, number: int) -> None:
        """Remember those of a sample that goes."""
        base = block.fields(0).get("probes", [])
        for entry in block.changed(number, "probes"):
            if isinstance(entry, int):
                continue  # nothing has come since the first sample
            probe, fields = (
                (entry, entry) if isinstance(entry, dict) else (base[entry[0]], entry[1])
            )
            waiting = self._waiting.setdefault((probe["pid"], probe["start_time_seconds"]), {})
            for name in _SPANS:
                waiting[name] = _joined(waiting.get(name, []), fields.get(name, []))

    def added(self, fields: dict[str, Any]) -> Sample:
        """A sample that stays, with them."""
        if self._waiting and fields.get("probes"):
            probes: list[dict[str, Any]] = []
            for probe in fields["probes"]:
                waiting = self._waiting.get((probe["pid"], probe["start_time_seconds"]), {})
                more = {
                    name: _joined(spans, probe.get(name, [])) for name, spans in waiting.items()
                }
                probes.append(probe | more)
            fields = fields | {"probes": probes}
        self._waiting = {}
        return msgspec.convert(fields, Sample)


def _key(span: Any) -> object:
    """Of a step its number, of a phase its beginning."""
    return span["number"] if isinstance(span, dict) else span[1]


def _joined(before: list[Any], after: list[Any]) -> list[Any]:
    """Both in order; what is told twice, as it was told last."""
    if not before or not after:
        return before or after
    return list(
        ({_key(span): span for span in before} | {_key(span): span for span in after}).values()
    )
