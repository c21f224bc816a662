from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...probes.model.job_frames import JobFrame, RankFrame
from ..finding import Evidence, Severity, Subject, Verdict, compared
from ..price_reasons import NO_LOSS_YET
from ..rank_rule import NONE_PROBED, not_known, probed_ranks
from ..rule import JobRule, Scene, Threshold
from ..stages import alike

_WINDOW_SECONDS = 60.0
_LEAST_RANKS = 2


class _Peak(NamedTuple):
    seen_bytes: float
    rank: int
    room_bytes: float
    model: str | None


class UnevenMemory(JobRule):
    """Ranks need memory unevenly.

    Meaning:
        The fullest rank holds much more than the emptiest, at the peak of a step. Compared are ranks of
        one pipeline stage, on GPUs of one model. Experts do so by design, so it is information until the
        fullest is short of memory.
    Impact:
        The batch size of all is limited by the fullest: the memory of the others lies idle.
    Diagnosis:
        Compare the ranks' memory on the job screen. Rank 0 alone being fuller means that it keeps what
        others do not: gathered states, evaluation, logging.
    Mitigation:
        Move layers between stages, shard what rank 0 gathers, or offload it to the CPU.
    """

    id = "MEM307"
    name = "ranks need memory unevenly"
    short = "uneven memory"
    severity = "info"
    unpriced = NO_LOSS_YET
    severities = ("info", "warning")
    thresholds = {
        "uneven_ratio": Threshold(0.30, "ratio", "TraceML: 20/30 %"),
        "info_used_ratio": Threshold(0.50, "ratio", "TraceML: with pressure 30/50 %"),
        "warning_used_ratio": Threshold(0.92, "ratio", "TraceML: near out of memory"),
    }
    look_seconds = 5.0
    next_step = "Balance what the ranks hold, or move what the fullest gathers elsewhere."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        probed = probed_ranks(job, scene.frame)
        if not probed:
            return not_known(subject, NONE_PROBED)
        peaks = [peak for rank in job.ranks if (peak := _peak(rank, scene)) is not None]
        if len(peaks) < max(_LEAST_RANKS, len(job.ranks)):
            return Verdict(
                subject=subject, holds=None, unknown_because="not known of all its ranks"
            )
        found = [each for each in _compared(peaks, job, scene) if self._is_uneven(*each)]
        if not found:
            return Verdict(subject=subject, holds=False)
        (most, fullest, room, _), (least, emptiest, *_) = max(found, key=lambda each: each[0])
        uneven, used = (most - least) / most, most / room
        severity: Severity = "warning" if used >= self.limit["warning_used_ratio"] else "info"
        return Verdict(
            subject=subject,
            holds=True,
            severity=severity,
            evidence=(
                compared("uneven_ratio", uneven, self.limit["uneven_ratio"], "ratio"),
                Evidence(signal="fullest_rank", value=str(fullest)),
                Evidence(signal="allocated_bytes", value=most, unit="bytes"),
                Evidence(signal="emptiest_rank", value=str(emptiest)),
                Evidence(signal="least_allocated_bytes", value=least, unit="bytes"),
                compared("allocated_ratio", used, self.limit[f"{severity}_used_ratio"], "ratio"),
            ),
        )

    def _is_uneven(self, fullest: _Peak, emptiest: _Peak) -> bool:
        most, least = fullest.seen_bytes, emptiest.seen_bytes
        used = most / fullest.room_bytes
        uneven = (most - least) / most if most else 0.0
        return uneven >= self.limit["uneven_ratio"] and used >= self.limit["info_used_ratio"]


def _peak(rank: RankFrame, scene: Scene) -> _Peak | None:
    gpu = scene.frame.gpu(rank.gpu_index) if rank.gpu_index is not None else None
    values = scene.history.rank(rank.pid, "allocated_bytes").window(_WINDOW_SECONDS)
    if gpu is None or not gpu.memory_total_bytes or not values or rank.rank is None:
        return None
    return _Peak(max(values), rank.rank, float(gpu.memory_total_bytes), gpu.name)


def _compared(peaks: Sequence[_Peak], job: JobFrame, scene: Scene) -> Iterator[tuple[_Peak, _Peak]]:
    """The fullest and the emptiest of each stage, on GPUs of each model."""
    for ranks in alike(job, scene.frame):
        numbers = {rank.rank for rank in ranks}
        for model in {peak.model for peak in peaks}:
            among = [peak for peak in peaks if peak.rank in numbers and peak.model == model]
            if len(among) >= _LEAST_RANKS:
                yield max(among, key=_seen), min(among, key=_seen)


def _seen(peak: _Peak) -> float:
    return peak.seen_bytes
