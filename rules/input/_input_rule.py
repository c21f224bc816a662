"""The base of rules about input: each names one reason why a job waits for its data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Severity, Subject, Verdict
from ..rank_rule import not_known
from ..rule import JobRule, Scene
from ._input_wait import CAUSED_BY_THESE, SHARE, InputWait, input_waits


class InputRule(JobRule):
    """Holds where the job waits for its data, and for this reason."""

    severity: ClassVar[Severity] = "warning"
    thresholds = {"data_wait_ratio": SHARE}
    hold_seconds = 20.0
    look_seconds = 3.0
    explains: ClassVar[tuple[str, ...]] = CAUSED_BY_THESE

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        found = input_waits(scene)[job.id]
        if isinstance(found, str):
            return not_known(subject, found)
        if found.lost < self.limit["data_wait_ratio"] or found.is_once:
            return Verdict(subject=subject, holds=False)
        reason = self.reason(found, scene)
        if reason is None:
            return Verdict(subject=subject, holds=False)
        return Verdict(
            subject=subject,
            holds=True,
            evidence=(*found.evidence(self.limit["data_wait_ratio"]), *reason),
            next_step=self.step_for(found, scene),
            lost_ratio=found.lost,
        )

    @abstractmethod
    def reason(self, found: InputWait, scene: Scene) -> Iterable[Evidence] | None:
        """What proves this reason; ``None`` where it is another."""

    def step_for(self, found: InputWait, scene: Scene) -> str | None:
        """What to do now, where it can be more precise than the rule's."""
        return None
