"""A span of a recording in one file of its own, to be handed over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from ..model.sample import Sample
from .block import BlockBuilder
from .errors import DamagedBlock, RecordingError
from .marks import Changes
from .recording import Recording
from .whole_file import write_file


def cut(
    recording: Recording,
    begin_seconds: float,
    end_seconds: float,
    path: Path,
    *,
    redact: Callable[[Sample], Sample] | None = None,
    force: bool = False,
) -> int:
    """Write the samples of a span to a file, and say how many they were.

    Args:
        recording: what to take them from.
        begin_seconds: Unix time from which on.
        end_seconds: Unix time until which.
        path: where to; nothing is written over unless ``force``.
        redact: what is made of each sample before it is written.
        force: write over a regular file that is there.

    Raises:
        RecordingError: when there is nothing in that span, or the file cannot be written.
    """
    counted = [0]
    write_file(path, _blocks(recording, begin_seconds, end_seconds, redact, counted), force=force)
    return counted[0]


def _blocks(
    recording: Recording,
    begin: float,
    end: float,
    redact: Callable[[Sample], Sample] | None,
    counted: list[int],
) -> Iterator[bytes]:
    """Blocks with the same samples as those of the recording, but for what lies outside."""
    changes = Changes()
    for stored in recording.blocks:
        if stored.last_seconds < begin or stored.first_seconds > end:
            continue
        builder = BlockBuilder(changes, simulated=stored.head.simulated, thinned=stored.thinned)
        try:
            block = recording.block(stored)
            for number, seconds in enumerate(block.times):
                if begin <= seconds <= end:
                    sample, marks = block.kept(number)
                    builder.add(redact(sample) if redact else sample, marks)
        except DamagedBlock:
            pass  # what came before the damage is kept
        counted[0] += len(builder)
        if len(builder):
            yield builder.finish()
    if not counted[0]:
        raise RecordingError(f"{recording.title} has no sample between these two times")
