from __future__ import annotations

from statistics import median

from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Severity, Subject, Verdict
from ..job_time import has_gpus, share_of
from ..progress import NOT_GOING_ON, steps_go_on
from ..rank_rule import NONE_PROBED, not_known, probed_ranks
from ..rule import JobRule, Scene, Threshold
from ..stages import stages_of

_WINDOW_SECONDS = 30.0
_STEPS = 20
_SURPLUS_RATIO = 0.10
"""More than the schedule alone makes (ours)."""


class PipelineBubble(JobRule):
    """Pipeline bubble.

    Meaning:
        The stages of the pipeline stand idle for a large share of each step: at its beginning the later
        ones have nothing to do yet, at its end the earlier ones nothing more. With p stages and m
        micro-batches that is (p-1)/(m+p-1) of a step, and less where stages are interleaved.
    Impact:
        The share that is shown is lost on all stages alike. It is the least that any of them waits, so
        that a stage with more work than the others is not counted in.
    Diagnosis:
        Compare the share that is seen with the expected one of the evidence. About as much: too few
        micro-batches. Much more: a slow link between stages, or stages of unequal work.
    Mitigation:
        More micro-batches of smaller size, interleaved stages (virtual pipeline), a schedule that fills
        the gaps (zero bubble), fewer stages; balance the layers, the first and last stage included.
    """

    id = "RUN444"
    name = "pipeline bubble"
    short = "bubble"
    severity = "info"
    severities = ("info", "warning")
    thresholds = {
        "info_ratio": Threshold(0.15, "ratio", "ours: 4 stages with 17 micro-batches"),
        "warning_ratio": Threshold(0.25, "ratio", "ours: as of communication that nothing hides"),
    }
    look_seconds = 3.0
    explains = ("HW210", "RUN430")
    next_step = "Split the batch into more micro-batches, or interleave the stages."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        if not probed_ranks(job, scene.frame):
            return not_known(subject, NONE_PROBED)
        stages = stages_of(job, scene.frame)
        if len(stages) < 2 or not has_gpus(job.ranks):
            return Verdict(subject=subject, holds=False)
        if not steps_go_on(job):
            return not_known(subject, NOT_GOING_ON)
        found = share_of("comm", job, scene, _WINDOW_SECONDS)
        if isinstance(found, str):
            return not_known(subject, found)
        bubble = found.least
        if bubble < self.limit["info_ratio"]:
            return Verdict(subject=subject, holds=False)
        severity: Severity = "warning" if bubble >= self.limit["warning_ratio"] else "info"
        batches = _micro_batches(job, scene)
        expected = None if batches is None else (len(stages) - 1) / (batches + len(stages) - 1)
        more = expected is not None and bubble > expected + _SURPLUS_RATIO
        return Verdict(
            subject=subject,
            holds=True,
            severity=severity,
            confidence=0.9 if expected is not None and not more else 0.6,
            evidence=(
                Evidence(
                    signal="bubble_ratio",
                    label="least wait of a stage",
                    value=bubble,
                    threshold=self.limit[f"{severity}_ratio"],
                    comparison="≥",
                    unit="ratio",
                    mean_seconds=found.seconds,
                ),
                Evidence(signal="pipeline_stages", value=float(len(stages)), unit="count"),
                *_expected(batches, expected),
            ),
            next_step=_UNEQUAL if more else None,
            lost_ratio=bubble,
        )


_UNEQUAL = (
    "It is more than the schedule makes: look for a slow link between stages, or unequal stages."
)


def _micro_batches(job: JobFrame, scene: Scene) -> float | None:
    """Backward passes in a step of a rank."""
    counts = [
        step.micro_steps
        for rank, _ in probed_ranks(job, scene.frame)
        if (past := scene.frame.rank_history(rank.pid, rank.start_time_seconds)) is not None
        for step in past.steps[-_STEPS:]
    ]
    return float(median(counts)) if counts else None


def _expected(batches: float | None, expected: float | None) -> tuple[Evidence, ...]:
    if batches is None:
        return ()
    return (
        Evidence(signal="micro_batches", value=batches, unit="count"),
        Evidence(
            signal="expected_bubble_ratio",
            label="of the schedule alone",
            value=expected,
            unit="ratio",
            origin="inferred",
        ),
    )
