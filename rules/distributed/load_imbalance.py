from __future__ import annotations

from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Severity, Subject, Verdict, compared
from ..job_time import has_gpus
from ..progress import NOT_GOING_ON, steps_go_on
from ..rank_rule import NONE_PROBED, not_known, probed_ranks
from ..rule import JobRule, Scene, Threshold
from ._imbalance import imbalances


class LoadImbalance(JobRule):
    """Load imbalance.

    Meaning:
        In each step one rank has more work than the others, and it is another rank each time: batches
        differ in length or cost. No rank is slow; the work is unevenly shared out.
    Impact:
        All ranks wait for whoever has most. The share that is shown is what they wait in the mean.
    Diagnosis:
        Compare the tokens of each rank's batch (probe.tokens() makes them known) with its time in the
        forward. Where attention counts, the time grows with the square of the length.
    Mitigation:
        Batches of like length (group_by_length, bucketing), sequence packing to a fixed number of tokens,
        the same token budget on all ranks; with mixtures of experts, a loss that balances their load.
    """

    id = "RUN442"
    name = "load imbalance"
    severity = "info"
    severities = ("info", "warning")
    thresholds = {
        "info_ratio": Threshold(0.10, "ratio", "ours; OSDI'25 study of stragglers"),
        "warning_ratio": Threshold(0.25, "ratio", "ours"),
    }
    look_seconds = 5.0
    explains = ("HW210", "RUN430", "RUN443")
    next_step = (
        "Give all ranks like amounts of tokens: batches of like length, or packed sequences."
    )

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        if not steps_go_on(job):
            return not_known(subject, NOT_GOING_ON)
        if not probed_ranks(job, scene.frame):
            return not_known(subject, NONE_PROBED)
        found = scene.once(imbalances).get(job.id)
        if found is None or found.delay < self.limit["info_ratio"]:
            return Verdict(subject=subject, holds=False)
        # On CPUs alone the ranks share one machine, and who gets less of it goes round as well.
        much = found.delay >= self.limit["warning_ratio"] and has_gpus(job.ranks)
        severity: Severity = "warning" if much else "info"
        return Verdict(
            subject=subject,
            holds=True,
            severity=severity,
            evidence=(
                compared(
                    "last_rank_delay_ratio",
                    found.delay,
                    self.limit[f"{severity}_ratio"],
                    "ratio",
                    label="more work of the last rank",
                ),
                Evidence(
                    signal="ranks_last",
                    label="ranks in turn",
                    value=float(found.ranks),
                    unit="count",
                ),
                Evidence(
                    signal="same_rank_last_ratio",
                    label="the same one last",
                    value=found.most_often,
                    unit="ratio",
                ),
                *_tokens(found.tokens),
            ),
            lost_ratio=max(0.0, min(1.0, found.lost)),
        )


def _tokens(times: float | None) -> tuple[Evidence, ...]:
    if times is None:
        return ()
    return (
        Evidence(
            signal="last_rank_tokens_ratio",
            label="its tokens, of those of the others",
            value=times,
            unit="ratio",
        ),
    )
