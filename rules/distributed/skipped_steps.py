from __future__ import annotations

from ...probes.model.frame import ProbeFrame
from ...probes.model.job_frames import JobFrame, RankFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..rank_rule import RankRule
from ..rule import Scene, Threshold

_STEPS = 100


class SkippedSteps(RankRule):
    """Steps without an update.

    Meaning:
        In many of the last steps the optimizer changed no weights: the loss scaler of mixed precision
        found infinite gradients, halved its scale and threw the step away.
    Impact:
        The computing of those steps is lost on all ranks. A scale that only falls means that the
        training diverges: then all that follows is lost.
    Diagnosis:
        Print scaler.get_scale() and the gradient norm. Now and then one skipped step is normal.
    Mitigation:
        Train in bfloat16 where the GPU can (no scaler is needed), clip gradients, lower the learning
        rate, look for a division by zero or a logarithm of 0 in the loss.
    """

    id = "RUN435"
    name = "steps without an update"
    short = "skipped steps"
    severity = "warning"
    thresholds = {"skipped_ratio": Threshold(0.05, "ratio", "ours: of the last 100 steps")}
    hold_seconds = 0.0
    look_seconds = 5.0
    next_step = "Look at the loss scale and the gradient norm; use bfloat16 where the GPU can."

    def judge_rank(
        self, rank: RankFrame, probe: ProbeFrame, subject: Subject, job: JobFrame, scene: Scene
    ) -> Verdict:
        past = scene.frame.rank_history(rank.pid, rank.start_time_seconds)
        steps = list(past.steps[-_STEPS:]) if past else []
        # The first scale is a guess: what it skips is no fault.
        if len(steps) < _STEPS or steps[0].number <= _STEPS:
            return Verdict(subject=subject, holds=False)
        skipped = sum(step.skipped for step in steps)
        ratio = skipped / len(steps)
        if ratio < self.limit["skipped_ratio"]:
            return Verdict(subject=subject, holds=False)
        return Verdict(
            subject=subject,
            holds=True,
            evidence=(
                compared("skipped_steps_ratio", ratio, self.limit["skipped_ratio"], "ratio"),
                Evidence(signal="skipped_steps", value=float(skipped), unit="count"),
            ),
            lost_ratio=ratio,
            payers=frozenset(each.rank for each in job.ranks if each.rank is not None),
        )
