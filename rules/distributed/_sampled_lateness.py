"""The rank for which the others wait in each step, by stacks that were sampled: where there are no probes."""

from __future__ import annotations

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame, RankFrame
from ..stages import alike
from ..waits.ranks import WAITING_PHASES
from ._lateness import Late, latest

MARGIN = 0.1
"""The error of a share of a hundred samples, at 95 %: so much more a delay must be."""
MIXED_RATIO = 0.5


def sampled_late(job: JobFrame, frame: Frame) -> Late | None:
    """``None`` where too few stacks were taken, the ranks do not do the same work, or take turns."""
    ranks = next(iter(alike(job, frame)), ())
    sampled = [rank for rank in ranks if rank.phases_sampled]
    if len(sampled) < 2 or any(_hands_on(rank, frame) for rank in sampled):
        return None
    if any(rank.activity is None or rank.activity.still_since_seconds for rank in sampled):
        return None  # they stand still, and what was sampled is of before
    late = latest([(rank, rank.phases_sampled) for rank in sampled], WAITING_PHASES)
    if late is None:
        return None
    if not all(_takes_short_steps(rank, frame) for rank in sampled if rank is not late.rank):
        return None
    return late._replace(samples=min(rank.phases_sampled_count for rank in sampled))


def _hands_on(rank: RankFrame, frame: Frame) -> bool:
    """It sends to another stage of a pipeline, or receives from one: stages differ by design."""
    reading = frame.stacks_of(rank)
    return reading is None or reading.pairwise_samples > 0


def _takes_short_steps(rank: RankFrame, frame: Frame) -> bool:
    """It does something else in most seconds than to wait: else ranks may just take turns."""
    reading = frame.stacks_of(rank)
    return reading is not None and reading.mixed_runs >= MIXED_RATIO * reading.phase_runs
