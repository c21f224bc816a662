"""The base of rules about a phase that takes much of ten minutes, as saving and evaluating may."""

from __future__ import annotations

from typing import ClassVar

from ...probes.model.job_frames import JobFrame
from ..finding import Severity, Subject, Verdict
from ..job_time import share_of
from ..rank_rule import not_known
from ..rule import JobRule, Scene, Threshold

_WINDOW_SECONDS = 600.0
SEEN_SECONDS = Threshold(540.0, "seconds", "ours: less says nothing of what is rare")


class PhaseShareRule(JobRule):
    """Told as information; as a warning only where the rule has a limit for that."""

    phase: ClassVar[str]
    signal: ClassVar[str]
    severity: ClassVar[Severity] = "info"
    hold_seconds = 0.0
    look_seconds = 10.0

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        found = share_of(self.phase, job, scene, _WINDOW_SECONDS)
        if isinstance(found, str):
            return not_known(subject, found)
        if found.seconds < self.limit["seen_seconds"] or found.ratio < self.limit["info_ratio"]:
            return Verdict(subject=subject, holds=False)
        much = found.ratio >= self.limit.get("warning_ratio", 2.0)
        limit = self.limit["warning_ratio" if much else "info_ratio"]
        return Verdict(
            subject=subject,
            holds=True,
            severity="warning" if much else "info",
            evidence=(found.evidence(self.signal, limit),),
            lost_ratio=found.ratio,
        )
