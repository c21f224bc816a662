"""``gputop cut``: a part of a recording as a file of its own, to hand over."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from ...probes.feeds.protocol import FeedError
from ...probes.recording.block import encode
from ...probes.recording.segment import RecordingError, SegmentWriter
from ...probes.recording.writer import Blocks
from ..console.exits import COULD_NOT_LOOK, OK, complain
from ..console.output import say
from ..drawing import format
from .recorded import moment, opened


def cut(options: Namespace) -> int:
    """Returns the exit code."""
    try:
        recording = opened(options.source)
    except FeedError as error:
        return complain(str(error), COULD_NOT_LOOK)
    begin = moment(options.begin, recording) if options.begin else recording.first_seconds
    end = moment(options.end, recording) if options.end else recording.last_seconds
    output = Path(options.output)
    made = output.with_name(f".{output.name}.part") if options.force else output
    count, blocks = 0, Blocks()
    try:
        entries = recording.entries(begin, end)
        first = next(entries, None)
        if first is None:
            return complain(f"{options.source} has nothing from then to then", COULD_NOT_LOOK)
        made.unlink(missing_ok=True) if options.force else None
        writer = SegmentWriter(made)
        try:
            for entry in (first, *entries):
                full = blocks.add(entry)
                count += 1
                if full is not None:
                    writer.append(encode(full))
            last = blocks.take()
            if last is not None:
                writer.append(encode(last))
        finally:
            writer.close()
        if options.force:
            made.replace(output)
    except RecordingError as error:
        more = "; --force replaces it" if not options.force and output.exists() else ""
        return complain(f"{error}{more}", COULD_NOT_LOOK)
    except OSError as error:
        return complain(f"{output}: {error.strerror}", COULD_NOT_LOOK)
    say(f"{output}: {count} samples and marks, {format.quantity(float(writer.bytes), 'bytes')}")
    return OK
