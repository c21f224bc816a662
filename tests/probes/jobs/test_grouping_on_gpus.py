"""Processes on several GPUs, on one for its graphics, and by pids of another namespace."""

from __future__ import annotations

from gputop.probes.jobs.grouping import Grouping, group_jobs
from gputop.probes.model.gpu_readings import GpuProcessReading, GpuReading
from gputop.probes.model.job_frames import JobFrame

from support.grouping_gpus import names, torchrun
from support.grouping_parts import gpus, process


def only(grouping: Grouping) -> JobFrame:
    (job,) = grouping.jobs
    return job


def test_a_rank_with_stray_contexts_is_on_the_gpu_with_most_memory() -> None:
    devices = gpus([101, 102], [102])
    stray = GpuProcessReading(pid=102, memory_bytes=1 << 20)
    devices[0] = GpuReading(
        monotonic_seconds=1.0,
        index=0,
        processes=(GpuProcessReading(pid=101, memory_bytes=1 << 30), stray),
    )
    ranks = only(group_jobs(torchrun(100, workers=0), devices)).ranks
    assert [rank.gpu_index for rank in ranks] == [0, 1]


def test_without_memory_the_local_rank_decides_among_the_gpus_it_is_on() -> None:
    hidden = [
        GpuReading(
            monotonic_seconds=1.0,
            index=index,
            processes=tuple(GpuProcessReading(pid=pid) for pid in (101, 102)),
        )
        for index in (4, 5, 6)
    ]
    processes = [process(100, 1, "torchrun t.py")]
    processes += [
        process(101 + rank, 100, environment=names(rank, CUDA_VISIBLE_DEVICES="4,6"))
        for rank in range(2)
    ]
    ranks = only(group_jobs(processes, hidden)).ranks
    assert [rank.gpu_index for rank in ranks] == [4, 6]


def test_graphics_and_the_mps_server_are_no_jobs() -> None:
    devices = [
        GpuReading(
            monotonic_seconds=1.0,
            index=0,
            processes=(
                GpuProcessReading(pid=100, kind="graphics"),
                GpuProcessReading(pid=101, kind="mps"),
                GpuProcessReading(pid=999),
            ),
        )
    ]
    processes = [process(100, 1, "Xorg"), process(101, 1, "x", name="nvidia-cuda-mps-server")]
    assert group_jobs(processes, devices).jobs == ()


def test_pids_of_a_namespace_are_matched_where_they_are_unique() -> None:
    processes = [
        process(100, namespace_pids=(100, 7)),
        process(200, namespace_pids=(200, 8)),
        process(300, namespace_pids=(300, 8)),
    ]
    grouping = group_jobs(processes, gpus([7], [8]))
    assert [(job.ranks[0].pid, job.ranks[0].gpu_index) for job in grouping.jobs] == [(100, 0)]
    assert grouping.local_pids == {7: 100}
