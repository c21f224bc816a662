"""What a job's ranks spend their time on over a while, for rules about shares of it."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

import msgspec

from ..probes.model.job_frames import JobFrame, RankFrame
from .finding import Evidence, compared
from .rank_rule import NONE_PROBED, probed_ranks
from .rule import Scene


class Share(msgspec.Struct, frozen=True):
    """Of one phase, over a window."""

    ratio: float
    """Of the median rank."""
    least: float
    """Of the rank that spends least in it."""
    seconds: float
    """How much of the window was seen."""

    def evidence(self, signal: str, limit: float) -> Evidence:
        """It beside its limit."""
        return compared(signal, self.ratio, limit, "ratio", mean_seconds=self.seconds)


def share_of(phase: str, job: JobFrame, scene: Scene, seconds: float) -> Share | str:
    """How much of the job's time goes to a phase; a text: why that is not known."""
    probed = probed_ranks(job, scene.frame)
    if not probed:
        return NONE_PROBED
    found = [_mean(phase, rank, scene, seconds) for rank, _ in probed]
    known = [mean for mean in found if mean is not None]
    if not known:
        return "no step has ended yet"
    covered = max(scene.history.rank(rank.pid, _SEEN).covered(seconds) for rank, _ in probed)
    return Share(median(known), min(known), covered)


_SEEN = "phase stalled"
"""Kept for each rank whose phases are known at all."""


def _mean(phase: str, rank: RankFrame, scene: Scene, seconds: float) -> float | None:
    """A phase that it never was in is 0, where others are known."""
    mean = scene.history.rank(rank.pid, f"phase {phase}").mean(seconds)
    if mean is not None:
        # Frames from before its first time in the phase have no value of it.
        return mean * _part(phase, rank, scene, seconds)
    return 0.0 if scene.history.rank(rank.pid, _SEEN).mean(seconds) is not None else None


def _part(phase: str, rank: RankFrame, scene: Scene, seconds: float) -> float:
    known = len(scene.history.rank(rank.pid, f"phase {phase}").window(seconds))
    seen = len(scene.history.rank(rank.pid, _SEEN).window(seconds))
    return min(1.0, known / seen) if seen else 1.0


def has_gpus(ranks: Iterable[RankFrame]) -> bool:
    """Whether any of them computes on one."""
    return any(rank.gpu_index is not None for rank in ranks)
