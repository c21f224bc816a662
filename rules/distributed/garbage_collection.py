from __future__ import annotations

from ...probes.model.frame import ProbeFrame
from ...probes.model.job_frames import JobFrame, RankFrame
from ..finding import Severity, Subject, Verdict, compared
from ..progress import is_unsettled
from ..rank_rule import RankRule
from ..rule import Scene, Threshold

_WINDOW_SECONDS = 60.0


class GarbageCollection(RankRule):
    """Garbage collection.

    Meaning:
        Python's cyclic garbage collector stops the main loop again and again: each full collection
        looks at every object, and data sets with millions of small objects make that long.
    Impact:
        In a synchronous job all ranks wait for whoever collects, and they collect at different steps:
        eight ranks lose up to eight times the share of one.
    Diagnosis:
        gc.get_stats() and gc.get_count() in the job; len(gc.get_objects()) tells how many it looks at.
    Mitigation:
        gc.disable() and gc.collect() at the same step on all ranks (torchtitan and Megatron do so),
        gc.freeze() after set-up, arrays or tensors in place of lists of small objects.
    """

    id = "RUN433"
    name = "garbage collection"
    short = "GC pauses"
    severity = "info"
    severities = ("info", "warning")
    thresholds = {
        "info_ratio": Threshold(0.01, "ratio", "ours; torchtitan saw 1.5 % of the step"),
        "warning_ratio": Threshold(0.05, "ratio", "ours"),
        "warm_steps": Threshold(20.0, "count", "ours: imports and set-up are before"),
    }
    look_seconds = 5.0
    explains = ("RUN407", "RUN441", "RUN443")
    next_step = (
        "Collect at the same step on all ranks: gc.disable(), and gc.collect() now and then."
    )

    def judge_rank(
        self, rank: RankFrame, probe: ProbeFrame, subject: Subject, job: JobFrame, scene: Scene
    ) -> Verdict:
        if probe.gc_pause_seconds is None:
            return Verdict(subject=subject, holds=None, unknown_because="pauses are not counted")
        if is_unsettled(rank) or (probe.step or 0) < self.limit["warm_steps"]:
            return Verdict(
                subject=subject, holds=False
            )  # what is loaded at the start is collected once
        series = scene.history.rank(rank.pid, "gc_pause_seconds")
        grown, covered = series.grown(_WINDOW_SECONDS), series.covered(_WINDOW_SECONDS)
        if grown is None or grown < 0 or covered < _WINDOW_SECONDS / 2:
            return Verdict(subject=subject, holds=False)
        ratio = grown / covered
        if ratio < self.limit["info_ratio"]:
            return Verdict(subject=subject, holds=False)
        severity: Severity = "warning" if ratio >= self.limit["warning_ratio"] else "info"
        return Verdict(
            subject=subject,
            holds=True,
            severity=severity,
            evidence=(
                compared(
                    "garbage_collection_ratio",
                    ratio,
                    self.limit[f"{severity}_ratio"],
                    "ratio",
                    mean_seconds=covered,
                ),
            ),
            lost_ratio=min(1.0, ratio),
            payers=frozenset(each.rank for each in job.ranks if each.rank is not None),
        )
