"""Ranks that are gone but have left their page: evidence, in the job that they belonged to."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from .frame import Frame, JobFrame, RankFrame
from .probe_reading import ProbeReading
from .sample import Sample


def with_dead_ranks(
    jobs: Sequence[JobFrame], previous: Frame | None, sample: Sample
) -> tuple[JobFrame, ...]:
    """The jobs with the dead among their ranks; jobs of which nobody lives come last."""
    alive = {(rank.pid, rank.start_time_seconds) for job in jobs for rank in job.ranks}
    dead = [
        probe
        for probe in sample.probes
        if probe.ended_monotonic_seconds is not None
        and (probe.pid, probe.start_time_seconds) not in alive
    ]
    if not dead:
        return tuple(jobs)
    all_jobs = {job.id: job for job in jobs}
    for probe in dead:
        rank, home = _buried(probe, previous, sample)
        home = _home(home, all_jobs, probe)
        ranks = sorted((*home.ranks, rank), key=_order)
        all_jobs[home.id] = msgspec.structs.replace(home, ranks=tuple(ranks))
    return tuple(all_jobs.values())


def _buried(
    probe: ProbeReading, previous: Frame | None, sample: Sample
) -> tuple[RankFrame, JobFrame | None]:
    """The rank as it was last known, or as its page has it; and the job that it was in."""
    for job in previous.jobs if previous else ():
        for rank in job.ranks:
            if (rank.pid, rank.start_time_seconds) == (probe.pid, probe.start_time_seconds):
                return msgspec.structs.replace(rank, waits_for=()), job
    gpu = next((gpu for gpu in sample.gpus if gpu.uuid and gpu.uuid == probe.device_uuid), None)
    rank = RankFrame(
        rank=probe.rank,
        local_rank=probe.local_rank,
        pid=probe.pid,
        start_time_seconds=probe.start_time_seconds,
        gpu_index=gpu.index if gpu else None,
        gpu_uuid=probe.device_uuid,
    )
    return rank, None


def _home(before: JobFrame | None, jobs: dict[str, JobFrame], probe: ProbeReading) -> JobFrame:
    if before is not None:
        if before.id in jobs:
            return jobs[before.id]
        # Where nothing launched the ranks, a job is called by its oldest one: that may be the dead one.
        heir = next((job for job in jobs.values() if not {*before.pids}.isdisjoint(job.pids)), None)
        return heir or msgspec.structs.replace(before, ranks=(), pids=())
    for job in jobs.values():
        if _misses(job, probe):
            return job
    return JobFrame(
        id=f"pid-{probe.pid}-{probe.start_time_seconds:.2f}",
        name=probe.job_name or "",
        world_size=probe.world_size,
    )


def _misses(job: JobFrame, probe: ProbeReading) -> bool:
    """The job is of the same kind and lacks just this rank."""
    return (
        probe.rank is not None
        and (job.name, job.world_size) == (probe.job_name, probe.world_size)
        and probe.rank not in {rank.rank for rank in job.ranks}
    )


def _order(rank: RankFrame) -> tuple[bool, int, int]:
    return rank.rank is None, rank.rank or 0, rank.pid
