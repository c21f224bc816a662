"""``gputop export``: a recording as a trace, to be opened beside one of torch.profiler."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ...probes.feeds.protocol import FeedError
from ...probes.model.mark import Mark
from ...probes.model.sample import Sample
from ...probes.recording.recording import Recording
from ...probes.recording.segment import RecordingError
from ..console.exits import COULD_NOT_LOOK, OK, complain
from ..console.output import say
from ..drawing import format
from ..reports.trace.chrome import ChromeWriter
from ..reports.trace.perfetto import PerfettoWriter
from ..reports.trace.trace import Trace
from ..reports.trace.writer import TraceWriter
from .recorded import nothing_between, opened, span

WRITERS: Mapping[str, Callable[[Callable[[bytes], object]], TraceWriter]] = {
    "perfetto": PerfettoWriter,
    "chrome": ChromeWriter,
}


def export(options: Namespace) -> int:
    """Returns the exit code."""
    try:
        recording = opened(options.source)
    except FeedError as error:
        return complain(str(error), COULD_NOT_LOOK)
    begin, end = span(options.begin, options.end, recording)
    output = Path(options.output)
    try:
        trace, size = _written(
            entries(recording, begin, end), output, options.format, replace=options.force
        )
    except RecordingError as error:
        return complain(str(error), COULD_NOT_LOOK)
    except FileExistsError:
        more = (
            "File exists; --force replaces it" if output.is_file() else "it is there, and no file"
        )
        return complain(f"{output}: {more}", COULD_NOT_LOOK)
    except OSError as error:
        return complain(f"{output}: {error.strerror}", COULD_NOT_LOOK)
    if not size:
        return complain(nothing_between(options.source, begin, end, recording), COULD_NOT_LOOK)
    values = f"{format.grouped(trace.values)} values of counters"
    written = format.quantity(float(size), "bytes")
    say(f"{output}: {format.grouped(trace.spans)} spans, {values}, {written}")
    return OK


def entries(recording: Recording, begin: float, end: float) -> Iterator[Sample | Mark]:
    """Those of a time, after the marks of findings that were active when it began."""
    active: dict[tuple[str, str], Mark] = {}
    for mark in recording.marks():
        if mark.time_seconds >= begin:
            break
        active.pop((mark.rule, mark.subject), None)
        if mark.began:
            active[mark.rule, mark.subject] = mark
    yield from active.values()
    yield from recording.entries(begin, end)


def _written(
    taken: Iterator[Sample | Mark], output: Path, kind: str, *, replace: bool
) -> tuple[Trace, int]:
    """Write a file, which is whole or not there; the trace, and how many bytes it has.

    Raises:
        RecordingError: when the recording cannot be read.
        OSError: when the file cannot be written.
    """
    made = output.with_name(f".{output.name}.part") if replace else output
    if replace:
        made.unlink(missing_ok=True)  # of one that was killed
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(made, flags, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            trace = Trace(WRITERS[kind](file.write))
            for entry in taken:
                trace.add(entry)
            trace.end()
            file.flush()
            size = file.tell()
        if replace and size:
            made.replace(output)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    if not size:
        made.unlink(missing_ok=True)
    return trace, size
