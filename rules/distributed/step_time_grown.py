from __future__ import annotations

from statistics import median

from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Severity, Subject, Verdict, compared
from ..progress import NOT_GOING_ON, steps_go_on
from ..rank_rule import NONE_PROBED, not_known, probed_ranks
from ..rule import JobRule, Scene, Threshold
from ._pace import is_even

_RECENT_SECONDS = 180.0
_WHOLE_SECONDS = 580.0
_LEAST_STEPS = 12


class StepTimeGrown(JobRule):
    """Steps take longer.

    Meaning:
        The median step of the last three minutes takes longer than the median of the minutes before,
        and both spans were even in themselves: the pace has changed, and it is no jitter.
    Impact:
        The share that is shown is what each step takes longer. It may be wanted: longer sequences, a
        larger batch, another phase of a curriculum.
    Diagnosis:
        Compare the ledger of now with the one of then: which phase has grown? Findings of the same time
        about clocks, links or the host are the likely cause.
    Mitigation:
        Mend what changed at that time: the finding of the same minute is the likely cause. Where longer
        steps are wanted, there is nothing to mend.
    """

    id = "RUN436"
    name = "steps take longer"
    short = "slower steps"
    severity = "info"
    severities = ("info", "warning")
    thresholds = {
        "info_ratio": Threshold(0.10, "ratio", "gpuprof: 10 % for 3 minutes"),
        "warning_ratio": Threshold(0.25, "ratio", "gpuprof: 25 % for 3 minutes"),
    }
    look_seconds = 10.0
    next_step = "See which phase has grown, and what else changed at that time."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        if not steps_go_on(job):
            return not_known(subject, NOT_GOING_ON)
        probed = probed_ranks(job, scene.frame)
        if not probed:
            return not_known(subject, NONE_PROBED)
        rank, _ = probed[0]  # of a synchronous job all have the same pace
        now = scene.frame.monotonic_seconds
        past = scene.frame.rank_history(rank.pid, rank.start_time_seconds)
        steps = past.steps if past else ()
        recent = [s.seconds for s in steps if now - s.monotonic_seconds <= _RECENT_SECONDS]
        before = [
            s.seconds
            for s in steps
            if _RECENT_SECONDS < now - s.monotonic_seconds <= _WHOLE_SECONDS
            and s.number > _LEAST_STEPS
        ]
        if min(len(recent), len(before)) < _LEAST_STEPS:
            return Verdict(subject=subject, holds=False)
        usual, seconds = median(before), median(recent)
        grown = seconds / usual - 1.0 if usual > 0 else 0.0
        if grown < self.limit["info_ratio"] or not (is_even(before) and is_even(recent)):
            return Verdict(subject=subject, holds=False)
        severity: Severity = "warning" if grown >= self.limit["warning_ratio"] else "info"
        limit = self.limit[f"{severity}_ratio"]
        return Verdict(
            subject=subject,
            holds=True,
            severity=severity,
            evidence=(
                compared("step_time_growth_ratio", grown, limit, "ratio"),
                Evidence(
                    signal="step_seconds",
                    value=seconds,
                    unit="seconds",
                    mean_seconds=_RECENT_SECONDS,
                ),
                Evidence(
                    signal="usual_step_seconds",
                    label="step time before",
                    value=usual,
                    unit="seconds",
                ),
            ),
            lost_ratio=grown / (1.0 + grown),
        )
