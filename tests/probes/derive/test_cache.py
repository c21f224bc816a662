"""What is kept between frames changes no frame."""

from __future__ import annotations

import msgspec
import pytest

from gputop.probes.derive.cache import DeriveCache, Last
from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.simulator import SimulatedNode


@pytest.mark.parametrize("scenario", ["healthy", "gpu-lost", "two-islands"])
def test_frames_are_the_same_with_and_without_it(scenario: str) -> None:
    node = SimulatedNode(scenario, start_time_seconds=1.79e9)
    cache = DeriveCache()
    kept: Frame | None = None
    anew: Frame | None = None
    for second in range(-20, 20, 4):
        sample = node.sample_at(float(second))
        kept, anew = derive(kept, sample, cache), derive(anew, sample)
        assert kept == anew


def test_processes_that_go_leave_their_job_and_gpus_that_go_the_topology() -> None:
    sample = SimulatedNode("two-islands", start_time_seconds=1.79e9).sample_at(0.0)
    cache = DeriveCache()
    first = derive(None, sample, cache)
    fewer = msgspec.structs.replace(
        sample, sequence=sample.sequence + 1, processes=sample.processes[:-1], gpus=sample.gpus[:4]
    )
    after = derive(first, fewer, cache)
    assert first.topology is not None and after.topology is not None
    assert len(first.topology.gpus) == 8 and len(after.topology.gpus) == 4
    assert len(after.processes) == len(first.processes) - 1


def test_two_streams_share_nothing() -> None:
    one, other = DeriveCache(), DeriveCache()
    assert one.grouping is not other.grouping and one.topology is not other.topology


def test_it_is_made_again_only_of_something_else() -> None:
    last: Last[int] = Last()
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        return number

    assert last.of([1, 2], lambda: make(1)) == 1
    assert last.of([1, 2], lambda: make(2)) == 1
    assert last.of([1, 3], lambda: make(3)) == 3
    assert made == [1, 3]
