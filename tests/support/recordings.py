"""Samples of the simulated node, and recordings of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec

from gputop.probes.model.mark import Mark
from gputop.probes.model.sample import Sample
from gputop.probes.recording.block import Entry
from gputop.probes.recording.segment import SegmentWriter
from gputop.probes.recording.writer import blocks_of
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


@cache
def small_samples(count: int = 60, step: int = 1) -> tuple[Sample, ...]:
    """Of a node of which little is known, so that writing and reading it takes no time."""
    return tuple(
        msgspec.structs.replace(
            each, gpus=each.gpus[:1], processes=(), probes=(), threads=(), sources=each.sources[:1]
        )
        for each in samples(count)[::step]
    )


def written(path: Path, count: int = 60, scenario: str = "healthy") -> Path:
    """A segment of these, with a mark in it."""
    entries: list[Entry] = [*samples(count, scenario)]
    entries.insert(min(21, count), NOTE)
    return written_of(path, entries)


def written_of(path: Path, entries: Iterable[Entry]) -> Path:
    """A segment of these."""
    writer = SegmentWriter(path)
    for block in blocks_of(entries):
        writer.append(block)
    writer.close()
    return path
