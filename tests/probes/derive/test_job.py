"""What a frame tells of each rank."""

from __future__ import annotations

import time

import pytest

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.probe_readings import AllocatorReading
from gputop.probes.model.process_readings import ProcessReading
from gputop.probes.simulator import SimulatedNode

from support.probe_scenes import fold, gpu, probe, process, rank_of, sample, step


def test_the_step_of_a_frozen_job_grows_old() -> None:
    frozen = probe(10.0, step=7, step_monotonic_seconds=9.0, phase_monotonic_seconds=9.5)
    rank = rank_of(fold(sample(10.0, [frozen]), sample(52.0, [frozen])))
    assert (rank.step_age_seconds, rank.phase_age_seconds) == (43.0, 42.5)
    assert rank.current_step == 8


def test_throughput_is_reported_by_whole_steps() -> None:
    """Between two samples of a second there may be no step, or one: their rate would jump."""
    steps = tuple(
        step(number, 2.0 * number, 2.0, samples=32.0, tokens=64.0) for number in range(1, 9)
    )
    rank = rank_of(
        fold(sample(16.5, [probe(16.5, step=8, step_monotonic_seconds=16.0, steps=steps)]))
    )
    assert (rank.samples_per_second, rank.tokens_per_second) == (16.0, 32.0)
    assert rank.throughput_spread_ratio == 0.0


def test_the_throughput_of_a_hung_job_falls() -> None:
    steps = tuple(step(number, 2.0 * number, 2.0, samples=32.0) for number in range(1, 9))
    hung = probe(16.5, step=8, step_monotonic_seconds=16.0, steps=steps)
    rank = rank_of(fold(sample(16.5, [hung]), sample(34.0, [hung])))
    assert rank.samples_per_second == pytest.approx(8 * 32 / (16 + 16))


def test_a_job_that_stands_still_has_no_throughput_and_says_why() -> None:
    steps = tuple(step(number, 2.0 * number, 2.0, samples=32.0) for number in range(1, 9))
    hung = probe(16.5, step=8, step_monotonic_seconds=16.0, steps=steps)
    rank = rank_of(fold(sample(16.5, [hung]), sample(100.0, [hung])))
    assert (rank.samples_per_second, rank.tokens_per_second) == (None, None)
    assert rank.missing["samples_per_second"] == "no step has ended for 84 s"
    assert "tokens_per_second" not in rank.missing, "it never counted any"
    goes_on = probe(
        102.0,
        step=9,
        step_monotonic_seconds=101.0,
        steps=(*steps, step(9, 101.0, 85.0, samples=32.0)),
    )
    rank = rank_of(fold(sample(16.5, [hung]), sample(100.0, [hung]), sample(102.0, [goes_on])))
    assert rank.samples_per_second is not None
    assert "samples_per_second" not in rank.missing


def test_short_steps_may_pause_for_some_seconds_without_a_standstill() -> None:
    steps = tuple(step(number, 0.1 * number, 0.1, samples=32.0) for number in range(1, 9))
    page = probe(1.0, step=8, step_monotonic_seconds=0.8, steps=steps)
    assert rank_of(fold(sample(1.0, [page]), sample(5.7, [page]))).samples_per_second is not None
    assert rank_of(fold(sample(1.0, [page]), sample(5.9, [page]))).samples_per_second is None


def test_without_steps_the_counter_gives_the_throughput() -> None:
    rank = rank_of(
        fold(sample(10.0, [probe(10.0, samples=100.0)]), sample(12.0, [probe(12.0, samples=164.0)]))
    )
    assert rank.samples_per_second == 32.0
    assert rank.tokens_per_second is None


def test_what_the_page_says_of_memory_and_cost_is_passed_on() -> None:
    allocator = AllocatorReading(allocated_bytes=5, reserved_bytes=9)
    rank = rank_of(fold(sample(10.0, [probe(10.0, allocator=allocator, overhead_ratio=0.002)])))
    assert (rank.memory_allocated_bytes, rank.memory_reserved_bytes) == (5, 9)
    assert rank.probe_overhead_ratio == 0.002


def test_a_rank_without_a_probe_says_how_to_get_one() -> None:
    rank = rank_of(fold(sample(10.0, [], [process(10.0)])))
    assert rank.phase is None and rank.phase_source is None
    assert "gputop run" in rank.missing["phase"]


def test_a_probe_that_gave_up_says_why() -> None:
    rank = rank_of(fold(sample(10.0, [probe(10.0, error="page could not be written")])))
    assert rank.missing["phase"] == "the probe switched itself off: page could not be written"


def test_a_probe_names_rank_and_gpu_where_nothing_else_does() -> None:
    """No rank in the environment, and a driver that lists no processes (as in many containers)."""
    moment = 10.0
    pages = [
        probe(
            moment,
            100 + rank,
            rank=rank,
            local_rank=rank,
            world_size=2,
            step=3,
            device_uuid=f"GPU-{1 - rank}",
        )
        for rank in range(2)
    ]
    processes = [process(moment, pid, environment={}) for pid in (100, 101)]
    frame = fold(sample(moment, pages, processes, gpus=(gpu(moment, 0), gpu(moment, 1))))
    assert [(rank_of(frame, rank).pid, rank_of(frame, rank).gpu_index) for rank in (0, 1)] == [
        (100, 1),
        (101, 0),
    ]
    assert {job.world_size for job in frame.jobs} == {2}
    assert [frame.gpus[index].rank for index in (0, 1)] == [1, 0]
    member = frame.process(101)
    assert member is not None and (member.role, member.rank) == ("rank", 1)


def test_a_helper_that_only_carries_a_probe_is_no_rank() -> None:
    frame = fold(sample(10.0, [probe(10.0)], [process(10.0, environment={})]))
    assert frame.jobs == ()


def test_the_page_of_an_older_process_of_that_pid_is_not_taken() -> None:
    page = probe(10.0, rank=1, step=3, device_uuid="GPU-0")
    reborn = ProcessReading(pid=100, start_time_seconds=9.0, monotonic_seconds=10.0)
    assert fold(sample(10.0, [page], [reborn])).jobs == ()


def test_what_is_remembered_is_handed_on_and_not_copied() -> None:
    node = SimulatedNode("healthy", start_time_seconds=1.79e9)
    first = fold(node.sample_at(0.0))
    again = derive(first, node.sample_at(0.0))
    assert again.rank_history(51830, again.probes[0].start_time_seconds) is first.rank_history(
        51830, first.probes[0].start_time_seconds
    )


@pytest.mark.unmeasured
def test_eight_probes_cost_little() -> None:
    node = SimulatedNode("healthy", start_time_seconds=1.79e9)
    samples = [node.sample_at(float(at)) for at in range(300)]
    frame: Frame | None = None
    began = time.process_time()
    for each in samples:
        frame = derive(frame, each)
    milliseconds = (time.process_time() - began) / len(samples) * 1e3
    print(f"{milliseconds:.2f} ms a frame of 8 ranks; target 2 ms")
    assert milliseconds < 40.0  # also on a busy machine
