"""Ranks that are gone but have left their page: evidence, in the job that they belonged to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ..model.frame import Frame
from ..model.job_frames import JobFrame, RankFrame
from ..model.probe_readings import ProbeReading
from ..model.reading import Key, key_of
from ..model.sample import Sample


def with_dead_ranks(
    jobs: Sequence[JobFrame], previous: Frame | None, sample: Sample
) -> tuple[JobFrame, ...]:
    """The jobs with the dead among their ranks; jobs of which nobody lives come last."""
    alive = {key_of(rank) for job in jobs for rank in job.ranks}
    ended = {
        key_of(probe): probe.ended_monotonic_seconds
        for probe in sample.probes
        if probe.ended_monotonic_seconds is not None and key_of(probe) not in alive
    }
    if not ended:
        return tuple(jobs)
    dead = [probe for probe in sample.probes if key_of(probe) in ended]
    places = {
        key_of(rank): (rank, job)
        for job in (previous.jobs if previous else ())
        for rank in job.ranks
    }
    all_jobs = {job.id: job for job in jobs}
    for probe in dead:
        rank, before = places.get(key_of(probe), (None, None))
        buried = _from_page(probe, sample) if rank is None else replace(rank, waits_for=())
        home = _home(before, all_jobs, probe, ended)
        ranks = sorted((*home.ranks, buried), key=_order)
        all_jobs[home.id] = replace(home, ranks=tuple(ranks))
    return tuple(all_jobs.values())


def _from_page(probe: ProbeReading, sample: Sample) -> RankFrame:
    """The rank as its page has it, where it was not known before."""
    gpu = next((gpu for gpu in sample.gpus if gpu.uuid and gpu.uuid == probe.device_uuid), None)
    return RankFrame(
        rank=probe.rank,
        local_rank=probe.local_rank,
        pid=probe.pid,
        start_time_seconds=probe.start_time_seconds,
        gpu_index=gpu.index if gpu else None,
        gpu_uuid=probe.device_uuid,
    )


def _home(
    before: JobFrame | None,
    jobs: Mapping[str, JobFrame],
    probe: ProbeReading,
    ended: Mapping[Key, float],
) -> JobFrame:
    if before is not None:
        if before.id in jobs:
            return jobs[before.id]
        # Where nothing launched the ranks, a job is called by its oldest one: that may be the dead one.
        heir = next((job for job in jobs.values() if not {*before.pids}.isdisjoint(job.pids)), None)
        return heir or replace(before, ranks=(), pids=())
    for job in jobs.values():
        if _misses(job, probe, ended):
            return job
    return JobFrame(
        id=f"pid-{probe.pid}-{probe.start_time_seconds:.2f}",
        name=probe.job_name or "",
        world_size=probe.world_size,
    )


def _misses(job: JobFrame, probe: ProbeReading, ended: Mapping[Key, float]) -> bool:
    """The job is of the same kind, lacks just this rank, and all of it lived while that did."""
    return (
        probe.rank is not None
        and (job.name, job.world_size) == (probe.job_name, probe.world_size)
        and probe.rank not in {rank.rank for rank in job.ranks}
        and all(_met(rank, probe, ended) for rank in job.ranks)
    )


def _met(rank: RankFrame, dead: ProbeReading, ended: Mapping[Key, float]) -> bool:
    """They lived at the same time: the one before a restart is of another job, and so is its page."""
    return rank.start_time_seconds < ended[key_of(dead)] and dead.start_time_seconds < ended.get(
        key_of(rank), math.inf
    )


def _order(rank: RankFrame) -> tuple[bool, int, int]:
    return rank.rank is None, rank.rank or 0, rank.pid
