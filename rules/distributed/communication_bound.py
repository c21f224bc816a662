from __future__ import annotations

from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Severity, Subject, Verdict, compared
from ..job_time import has_gpus, share_of
from ..progress import NOT_GOING_ON, steps_go_on
from ..rank_rule import not_known
from ..rule import JobRule, Scene, Threshold
from ._imbalance import imbalances

_WINDOW_SECONDS = 30.0
_ALIKE_RATIO = 0.5


class CommunicationBound(JobRule):
    """Communication-bound.

    Meaning:
        For a large share of each step all ranks alike stand in collectives that no computing hides. A
        single rank that waits less than the others is what they wait for; then this rule keeps silent.
        What they wait for a burden that goes from rank to rank is not counted either.
    Impact:
        The share that is shown is the most that faster or better hidden communication would win.
    Diagnosis:
        The links screen shows whether NVLink, PCIe or the network is at its limit, or far below what it
        carries: then it is latency (many small collectives), or the wrong way (NCCL_DEBUG=INFO tells).
    Mitigation:
        Larger buckets (bucket_cap_mb), no_sync() while gradients accumulate, overlap (FSDP's
        backward_prefetch), gradients in bf16, larger batches per GPU, tensor parallelism within NVLink.
    """

    id = "RUN430"
    name = "communication-bound"
    short = "comm-bound"
    severity = "warning"
    severities = ("info", "warning")
    thresholds = {
        "info_ratio": Threshold(0.18, "ratio", "ours: exposed communication up to 18 %"),
        "warning_ratio": Threshold(
            0.25, "ratio", "ours; gpuprof warns from 20, is critical at 40 %"
        ),
    }
    look_seconds = 3.0
    explains = ("HW210", "RUN436")
    next_step = "See on the links screen which way it takes, and whether that is at its limit."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        # Without GPUs a rank that waits for another looks the same, as an engine and a trainer in turn.
        if (job.world_size or len(job.ranks)) < 2 or not has_gpus(job.ranks):
            return Verdict(subject=subject, holds=False)
        if not steps_go_on(job):
            return not_known(subject, NOT_GOING_ON)
        found = share_of("comm", job, scene, _WINDOW_SECONDS)
        if isinstance(found, str):
            return not_known(subject, found)
        uneven = found.least < _ALIKE_RATIO * found.ratio
        burden = scene.once(imbalances).get(job.id)
        lost = found.ratio - (burden.lost if burden else 0.0)
        if uneven or lost < self.limit["info_ratio"]:
            return Verdict(subject=subject, holds=False)
        severity: Severity = "warning" if lost >= self.limit["warning_ratio"] else "info"
        return Verdict(
            subject=subject,
            holds=True,
            severity=severity,
            evidence=(
                compared(
                    "exposed_communication_ratio",
                    lost,
                    self.limit[f"{severity}_ratio"],
                    "ratio",
                    mean_seconds=found.seconds,
                ),
                Evidence(
                    signal="least_of_a_rank_ratio",
                    value=found.least,
                    unit="ratio",
                    mean_seconds=found.seconds,
                ),
            ),
            lost_ratio=lost,
        )
