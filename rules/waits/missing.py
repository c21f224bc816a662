"""Ranks that are not there any more: seen to end, or only missed by those that stand still."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame, RankFrame, exited_rank
from ...probes.model.rank_activity import ExitedRank
from ..rule import Scene

STILL_SECONDS = 5.0
SETTLED_SECONDS = 10.0
"""A launcher starts all ranks of a node at once; so long after the last came, no more is coming."""


class MissingRank(msgspec.Struct, frozen=True):
    """Its number has no process on this node, though the launcher started so many here."""

    job: JobFrame
    rank: int
    expected: int
    seconds: float
    """For how long all others have stood still."""


def ended_ranks(job: JobFrame, frame: Frame) -> Iterator[ExitedRank]:
    """Those of the job that were seen to end, or have left their page, and were not started again."""
    living = {rank.rank for rank in job.living}
    known: set[int] = set()
    for exited in frame.exited_ranks:
        if exited.job_id == job.id and exited.rank not in living:
            known.add(exited.pid)
            yield exited
    whole = next((each for each in frame.jobs if each.id == job.id), job)
    for rank in whole.ranks:
        age = rank.ended_age_seconds
        if age is not None and rank.rank not in living and rank.pid not in known:
            yield exited_rank(rank, whole, frame.monotonic_seconds - age)


def missing_ranks(scene: Scene) -> Iterator[MissingRank]:
    """Of jobs all of whose ranks here stand still, the numbers that are not there."""
    frame = scene.frame
    for job in frame.running:
        still = [_still_seconds(rank, frame) for rank in job.ranks]
        if not still or min(still) < STILL_SECONDS or any(rank.stopped for rank in job.ranks):
            continue
        started = max(rank.start_time_seconds for rank in job.ranks)
        expected = _expected(job, frame)
        here = {rank.local_rank for rank in job.ranks}
        if expected is None or None in here or len(here) >= expected:
            continue
        if _age(started, frame) < SETTLED_SECONDS:
            continue
        offset = _offset(job.ranks)
        known = {each.rank for each in ended_ranks(job, frame)}
        for local in range(expected):
            if offset is not None and local not in here and offset + local not in known:
                yield MissingRank(job, offset + local, expected, min(still))


def _still_seconds(rank: RankFrame, frame: Frame) -> float:
    since = rank.activity.still_since_seconds if rank.activity else None
    return 0.0 if since is None else frame.monotonic_seconds - since


def _expected(job: JobFrame, frame: Frame) -> int | None:
    """How many ranks the launcher says that it has started here."""
    told = {_local_world(rank, frame) for rank in job.ranks}
    number = told.pop() if len(told) == 1 else None
    return number if number is not None and number <= 64 else None


def _local_world(rank: RankFrame, frame: Frame) -> int | None:
    process = frame.process(rank.pid)
    text = process.environment.get("LOCAL_WORLD_SIZE", "") if process else ""
    return int(text) if text.isdecimal() else None


def _offset(ranks: tuple[RankFrame, ...]) -> int | None:
    """Rank less local rank, where that is the same for all here."""
    found = {
        rank.rank - rank.local_rank
        for rank in ranks
        if rank.rank is not None and rank.local_rank is not None
    }
    return found.pop() if len(found) == 1 else None


def _age(start_time_seconds: float, frame: Frame) -> float:
    """Start times count from boot, as the monotonic clock nearly does."""
    return frame.monotonic_seconds - start_time_seconds
