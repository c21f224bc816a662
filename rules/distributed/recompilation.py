from __future__ import annotations

from ...probes.model.frame import ProbeFrame
from ...probes.model.job_frames import JobFrame, RankFrame
from ..finding import Evidence, Severity, Subject, Verdict, compared
from ..rank_rule import RankRule
from ..rule import Scene, Threshold

_WINDOW_SECONDS = 300.0


class Recompilation(RankRule):
    """Recompiles after warm-up.

    Meaning:
        torch.compile makes code anew long after the first steps: a guard failed, mostly because a shape
        or a Python value changed. From eight versions of a function on it gives up and runs uncompiled.
    Impact:
        Each one stops this rank for seconds to minutes, and all others wait for it.
    Diagnosis:
        TORCH_LOGS=recompiles names the guard that failed, torch._dynamo.utils.counters how often.
    Mitigation:
        Pad to few lengths, mark_dynamic() what varies, dynamic=True, keep Python values that change out
        of compiled functions, and warm up the shapes of evaluation before the first step.
    """

    id = "RUN434"
    name = "recompiles after warm-up"
    short = "recompiles"
    severity = "info"
    costs = ("compile",)
    severities = ("info", "warning")
    thresholds = {
        "warm_steps": Threshold(100.0, "count", "ours"),
        "warning_count": Threshold(8.0, "count", "dynamo's own limit of versions (pytorch)"),
    }
    hold_seconds = 0.0
    look_seconds = 10.0
    clear_seconds = 30.0
    explains = ("RUN407", "RUN441", "RUN443")
    next_step = (
        "Find the guard that fails: TORCH_LOGS=recompiles; then pad, or mark what is dynamic."
    )

    def judge_rank(
        self, rank: RankFrame, probe: ProbeFrame, subject: Subject, job: JobFrame, scene: Scene
    ) -> Verdict:
        if probe.recompiles is None:
            return Verdict(subject=subject, holds=None, unknown_because="they are not counted")
        grown = scene.history.rank(rank.pid, "recompiles").grown(_WINDOW_SECONDS)
        steps = scene.history.rank(rank.pid, "step_seconds").window(_WINDOW_SECONDS)
        warm = (probe.step or 0) - len(steps) >= self.limit["warm_steps"]
        if not warm or grown is None or grown <= 0:
            return Verdict(subject=subject, holds=False)
        severity: Severity = "warning" if grown >= self.limit["warning_count"] else "info"
        return Verdict(
            subject=subject,
            holds=True,
            severity=severity,
            evidence=(
                compared("recompiles", grown, self.limit["warning_count"], "count"),
                Evidence(signal="over_seconds", value=_WINDOW_SECONDS, unit="seconds"),
                Evidence(signal="step", value=float(probe.step or 0), unit="count"),
            ),
        )
