"""Ranks as subjects and in words, and the phases that say something about waiting."""

from __future__ import annotations

from collections.abc import Iterable

from ...probes.model.job_frames import JobFrame, RankFrame
from ..finding import Subject
from .graph import Key

KEPT_WAITING = "kept_waiting"
"""Signal of whoever waits for the rank that a finding is about."""
WAITING_PHASES = frozenset({"backward", "comm", "sync"})
"""In these ranks wait for each other."""


def rank_key(rank: RankFrame) -> Key:
    """Of a rank in the graph."""
    return Key("rank", str(rank.pid))


def rank_subject(job: JobFrame, rank: RankFrame) -> Subject:
    """The subject that stands for a rank."""
    return Subject(
        kind="rank",
        id=f"{job.id} {rank.pid}@{rank.start_time_seconds:.2f}",
        rank=rank.rank,
        gpu=rank.gpu_index,
        job=job.id,
    )


def names_of(ranks: Iterable[RankFrame]) -> str:
    """For people: ``rank 3``, ``ranks 0, 1, 4``, ``pid 812``."""
    names = [str(rank.rank) if rank.rank is not None else f"pid {rank.pid}" for rank in ranks]
    if all(name.startswith("pid") for name in names):
        return ", ".join(names)
    return f"rank{'s' * (len(names) > 1)} {', '.join(names)}"
