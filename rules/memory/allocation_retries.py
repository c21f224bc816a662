from __future__ import annotations

from ...probes.model.frame import ProbeFrame
from ...probes.model.job_frames import JobFrame, RankFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rank_rule import RankRule
from ..rule import Scene, Threshold

_WINDOW_SECONDS = 60.0


class AllocationRetries(RankRule):
    """Allocation retries.

    Meaning:
        PyTorch's allocator found no free block again and again, gave its whole cache back to the driver
        and allocated anew. It is the last thing that it does before "CUDA out of memory".
    Impact:
        Each retry waits for the whole device and unmaps gigabytes: steps become slower and uneven, and
        in a synchronous job all ranks wait. The next larger batch ends the job.
    Diagnosis:
        torch.cuda.memory_stats()["num_alloc_retries"] in the job; gputop probe PID memory-snapshot writes the
        allocator's blocks for pytorch.org/memory_viz.
    Mitigation:
        Lower the batch size or sequence length, activation checkpointing, and against fragmentation
        PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True. In the first steps some are normal.
    """

    id = "MEM303"
    name = "allocation retries"
    short = "retries"
    severity = "warning"
    unpriced = NOT_KNOWN_HOW_MUCH
    thresholds = {
        "retries": Threshold(1.0, "count", "ours: any within a minute"),
        "warm_steps": Threshold(20.0, "count", "ours: the first steps find their sizes"),
    }
    hold_seconds = 0.0
    look_seconds = 5.0
    clear_seconds = 30.0
    explains = ("MEM301", "RUN407", "RUN436", "RUN441", "RUN443")
    next_step = "Lower what a step needs, or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True."

    def judge_rank(
        self, rank: RankFrame, probe: ProbeFrame, subject: Subject, job: JobFrame, scene: Scene
    ) -> Verdict:
        if probe.allocator is None or probe.allocator.alloc_retries is None:
            return Verdict(subject=subject, holds=None, unknown_because="no allocator on a GPU")
        grown = scene.history.rank(rank.pid, "alloc_retries").grown(_WINDOW_SECONDS)
        warm = (probe.step or 0) >= self.limit["warm_steps"]
        if not warm or grown is None or grown < self.limit["retries"]:
            return Verdict(subject=subject, holds=False)
        return Verdict(
            subject=subject,
            holds=True,
            evidence=(
                compared("alloc_retries", grown, self.limit["retries"], "count"),
                Evidence(signal="over_seconds", value=_WINDOW_SECONDS, unit="seconds"),
                Evidence(
                    signal="reserved_bytes",
                    value=probe.allocator.reserved_bytes,
                    unit="bytes",
                ),
            ),
        )
