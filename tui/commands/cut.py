"""``gputop cut``: a part of a recording as a file of its own, to hand over."""

from __future__ import annotations

import itertools
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from ...probes.feeds.protocol import FeedError
from ...probes.recording.block import Entry
from ...probes.recording.segment import RecordingError, SegmentWriter
from ...probes.recording.writer import blocks_of
from ..console.exits import COULD_NOT_LOOK, OK, complain
from ..console.output import say
from ..drawing import format
from .recorded import nothing_between, opened, span


def cut(options: Namespace) -> int:
    """Returns the exit code."""
    try:
        recording = opened(options.source)
    except FeedError as error:
        return complain(str(error), COULD_NOT_LOOK)
    begin, end = span(options.begin, options.end, recording)
    output = Path(options.output)
    try:
        count, size = _copied(recording.entries(begin, end), output, replace=options.force)
    except RecordingError as error:
        more = "; --force replaces it" if not options.force and output.is_file() else ""
        return complain(f"{error}{more}", COULD_NOT_LOOK)
    except OSError as error:
        return complain(f"{output}: {error.strerror}", COULD_NOT_LOOK)
    if not size:
        return complain(nothing_between(options.source, begin, end, recording), COULD_NOT_LOOK)
    say(f"{output}: {count} samples and marks, {format.quantity(float(size), 'bytes')}")
    return OK


def _copied(entries: Iterator[Entry], output: Path, *, replace: bool) -> tuple[int, int]:
    """Write them to a file, which is whole or not there; how many they were, and its bytes.

    Raises:
        RecordingError: when they cannot be read or written.
        OSError: when the file that is there cannot be replaced.
    """
    made = output.with_name(f".{output.name}.part") if replace else output
    if replace:
        made.unlink(missing_ok=True)  # of one that was killed
    writer = SegmentWriter(made)
    numbers = itertools.count()
    try:
        for block in blocks_of(entry for entry, _ in zip(entries, numbers, strict=False)):
            writer.append(block)
        if replace and writer.bytes:
            made.replace(output)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    finally:
        writer.close()
    return next(numbers), writer.bytes
