"""Ranks that have ended while they were watched: how, and in which job they were."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ..model.frame import Frame
from ..model.job_frames import JobFrame, RankFrame, exited_rank
from ..model.rank_activity import ExitedRank
from ..model.reading import Key, key_of
from ..model.sample import Sample

PENDING_EXIT_SECONDS = 60.0
"""So long after a rank has gone is it waited for how it ended: its parent may be slow to ask."""
_MOST_PENDING = 256


def exited_ranks(previous: Frame | None, current: Sample) -> tuple[ExitedRank, ...]:
    """Ranks that have ended, the first of each job first."""
    if previous is None or not current.exits:
        return ()
    known: dict[Key, ExitedRank] = {key_of(gone): gone for gone in previous.exited_ranks}
    places = {key_of(gone): gone for gone in previous.pending_exits}
    for job in previous.jobs:
        places.update({key_of(rank): _exited(rank, job, 0.0, previous) for rank in job.ranks})
    for ended in current.exits:
        key = key_of(ended)
        if key in known or key not in places:
            continue
        known[key] = replace(
            places[key],
            monotonic_seconds=ended.monotonic_seconds,
            signal=ended.signal,
            code=ended.code,
            killed_by=ended.killed_by,
        )
    listed = {key_of(ended) for ended in current.exits}
    kept = [gone for key, gone in known.items() if key in listed]
    return tuple(sorted(kept, key=lambda gone: gone.monotonic_seconds))


def pending_exits(
    previous: Frame | None, current: Sample, jobs: Sequence[JobFrame], gone: Sequence[ExitedRank]
) -> tuple[ExitedRank, ...]:
    """Ranks that are not there any more, and of whose end nothing is known yet.

    One source sees that a process has gone, another one how it ended: that may be reported later, when the
    rank, and perhaps all its job, is in no frame any more.
    """
    if previous is None:
        return ()
    now = current.monotonic_seconds
    settled = {key_of(rank) for job in jobs for rank in job.ranks} | {key_of(each) for each in gone}
    awaited = [
        each
        for each in previous.pending_exits
        if key_of(each) not in settled and now - each.monotonic_seconds < PENDING_EXIT_SECONDS
    ]
    awaited += [
        _exited(rank, job, now, previous)
        for job in previous.jobs
        for rank in job.ranks
        if key_of(rank) not in settled
    ]
    return tuple(awaited[-_MOST_PENDING:])


def _exited(
    rank: RankFrame, job: JobFrame, monotonic_seconds: float, previous: Frame
) -> ExitedRank:
    process = previous.process(rank.pid)
    return replace(
        exited_rank(rank, job, monotonic_seconds), cgroup=process.cgroup if process else None
    )
