"""Ranks that have ended while they were watched: how, and in which job they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace

from .frame import Frame, JobFrame, RankFrame
from .rank_frame import GoneRank
from .sample import Sample

AWAITED_SECONDS = 60.0
"""So long after a rank has gone is it waited for how it ended: its parent may be slow to ask."""
_MOST_AWAITED = 256

Key = tuple[int, float]


def gone_ranks(previous: Frame | None, current: Sample) -> tuple[GoneRank, ...]:
    """Ranks that have ended, the first of each job first."""
    if previous is None:
        return ()
    known: dict[Key, GoneRank] = {_key(gone): gone for gone in previous.gone}
    places = {_key(gone): gone for gone in previous.awaited}
    for job in previous.jobs:
        places.update({_key(rank): _gone(rank, job, 0.0) for rank in job.ranks})
    for ended in current.exits:
        key = _key(ended)
        if key in known or key not in places:
            continue
        known[key] = replace(
            places[key],
            monotonic_seconds=ended.monotonic_seconds,
            signal=ended.signal,
            code=ended.code,
            killer=ended.killer,
        )
    listed = {_key(ended) for ended in current.exits}
    kept = [gone for key, gone in known.items() if key in listed]
    return tuple(sorted(kept, key=lambda gone: gone.monotonic_seconds))


def awaited_ranks(
    previous: Frame | None, current: Sample, jobs: Sequence[JobFrame], gone: Sequence[GoneRank]
) -> tuple[GoneRank, ...]:
    """Ranks that are not there any more, and of whose end nothing is known yet.

    One source sees that a process has gone, another one how it ended: that may be told later, when the
    rank, and perhaps all its job, is in no frame any more.
    """
    if previous is None:
        return ()
    now = current.monotonic_seconds
    settled = {_key(rank) for job in jobs for rank in job.ranks} | {_key(each) for each in gone}
    left = [_gone(rank, job, now) for job in previous.jobs for rank in job.ranks]
    return tuple(
        [
            each
            for each in (*previous.awaited, *left)
            if _key(each) not in settled and now - each.monotonic_seconds < AWAITED_SECONDS
        ][-_MOST_AWAITED:]
    )


def _gone(rank: RankFrame, job: JobFrame, monotonic_seconds: float) -> GoneRank:
    return GoneRank(
        rank=rank.rank,
        pid=rank.pid,
        start_time_seconds=rank.start_time_seconds,
        job_id=job.id,
        job_name=job.name,
        monotonic_seconds=monotonic_seconds,
        gpu_index=rank.gpu_index,
    )


class _Started(Protocol):
    @property
    def pid(self) -> int: ...
    @property
    def start_time_seconds(self) -> float: ...


def _key(process: _Started) -> Key:
    return (process.pid, process.start_time_seconds)
