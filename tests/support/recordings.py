"""Samples of the simulated node, and recordings of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gputop.probes.model.mark import Mark
from gputop.probes.model.sample import Sample
from gputop.probes.recording.block import Entry, encode
from gputop.probes.recording.segment import SegmentWriter
from gputop.probes.recording.writer import Blocks
from gputop.probes.simulator import SimulatedNode

BEGAN = 1_790_000_000.0
NOTE = Mark(
    time_seconds=BEGAN + 20,
    rule="HW206",
    name="Xid",
    severity="error",
    subject="GPU 3",
    began=True,
)


@cache
def samples(count: int = 60, scenario: str = "healthy") -> tuple[Sample, ...]:
    """One a second from `BEGAN` on."""
    node = SimulatedNode(scenario, start_time_seconds=BEGAN)
    return tuple(node.sample_at(float(second)) for second in range(count))


def written(path: Path, count: int = 60, scenario: str = "healthy") -> Path:
    """A segment of these, with a mark in it."""
    entries: list[Entry] = [*samples(count, scenario)]
    entries.insert(min(21, count), NOTE)
    writer, blocks = SegmentWriter(path), Blocks()
    for entry in entries:
        full = blocks.add(entry)
        if full is not None:
            writer.append(encode(full))
    last = blocks.take()
    if last is not None:
        writer.append(encode(last))
    writer.close()
    return path
