"""Ranks that have ended while they were watched: how, and in which job they were."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ..model.frame import Frame
from ..model.job_frames import JobFrame, gone_rank
from ..model.process_key import Key, key_of
from ..model.rank_activity import GoneRank
from ..model.sample import Sample

AWAITED_SECONDS = 60.0
"""So long after a rank has gone is it waited for how it ended: its parent may be slow to ask."""
_MOST_AWAITED = 256


def gone_ranks(previous: Frame | None, current: Sample) -> tuple[GoneRank, ...]:
    """Ranks that have ended, the first of each job first."""
    if previous is None or not current.exits:
        return ()
    known: dict[Key, GoneRank] = {key_of(gone): gone for gone in previous.gone}
    places = {key_of(gone): gone for gone in previous.awaited}
    for job in previous.jobs:
        places.update({key_of(rank): gone_rank(rank, job, 0.0) for rank in job.ranks})
    for ended in current.exits:
        key = key_of(ended)
        if key in known or key not in places:
            continue
        known[key] = replace(
            places[key],
            monotonic_seconds=ended.monotonic_seconds,
            signal=ended.signal,
            code=ended.code,
            killer=ended.killer,
        )
    listed = {key_of(ended) for ended in current.exits}
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
    settled = {key_of(rank) for job in jobs for rank in job.ranks} | {key_of(each) for each in gone}
    awaited = [
        each
        for each in previous.awaited
        if key_of(each) not in settled and now - each.monotonic_seconds < AWAITED_SECONDS
    ]
    awaited += [
        gone_rank(rank, job, now)
        for job in previous.jobs
        for rank in job.ranks
        if key_of(rank) not in settled
    ]
    return tuple(awaited[-_MOST_AWAITED:])
