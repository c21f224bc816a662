"""Recordings of the simulated node, small and exact."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec

from gputop.probes.model.sample import Sample
from gputop.probes.recording.block import BlockBuilder
from gputop.probes.recording.marks import Changes, Mark
from gputop.probes.simulator import SimulatedNode

from support.unmeasured import unmeasured

START = 1_793_455_651.0
"""Unix time of the first sample."""


@cache
def samples(
    count: int, scenario: str = "input-bound", step_seconds: float = 1.0
) -> tuple[Sample, ...]:
    """Samples of the simulated node, one each second."""
    with unmeasured():
        node = SimulatedNode(scenario, start_time_seconds=START)
        return tuple(node.sample_at(number * step_seconds) for number in range(count))


def mark(id: str = "HW201", state: str = "active", subject: str = "GPU-3") -> Mark:
    """A finding as a front end hands it over."""
    return Mark(
        id=id,
        name="a finding",
        severity="error",
        state=state,
        subject_kind="gpu",
        subject_id=subject,
        since_seconds=START,
        finding=msgspec.Raw(msgspec.msgpack.encode({"id": id})),
    )


def write_blocks(
    path: Path,
    kept: Sequence[Sample],
    per_block: int = 10,
    marks: Sequence[tuple[Mark, ...]] = (),
) -> list[bytes]:
    """Write a segment, and return its blocks."""
    builder = BlockBuilder(Changes())
    blocks: list[bytes] = []
    for number, sample in enumerate(kept):
        builder.add(sample, marks[number] if marks else ())
        if len(builder) == per_block:
            blocks.append(builder.finish())
    if len(builder):
        blocks.append(builder.finish())
    path.write_bytes(b"".join(blocks))
    return blocks
