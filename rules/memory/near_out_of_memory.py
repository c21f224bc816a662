from __future__ import annotations

from ...probes.model.frame import ProbeFrame
from ...probes.model.job_frames import JobFrame, RankFrame
from ..finding import Severity, Subject, Verdict, compared
from ..price_reasons import NO_LOSS_YET
from ..rank_rule import RankRule
from ..rule import Scene, Threshold

_WINDOW_SECONDS = 60.0


class NearOutOfMemory(RankRule):
    """Near out of memory.

    Meaning:
        Tensors in use, not PyTorch's cache, take nearly all of the device at the peak of a step.
    Impact:
        A longer sequence, an evaluation or a library that allocates outside PyTorch ends the job with
        "CUDA out of memory".
    Diagnosis:
        torch.cuda.max_memory_allocated() in the job; gputop probe PID memory-snapshot shows what holds most.
    Mitigation:
        Lower the batch size, activation checkpointing, shard parameters and optimizer state (FSDP,
        ZeRO), an 8-bit optimizer, bf16 states.
    """

    id = "MEM306"
    name = "near out of memory"
    short = "near OOM"
    severity = "info"
    unpriced = NO_LOSS_YET
    severities = ("info", "warning")
    thresholds = {
        "info_ratio": Threshold(0.92, "ratio", "TraceML"),
        "warning_ratio": Threshold(0.97, "ratio", "TraceML, gpuprof"),
    }
    look_seconds = 5.0
    explains = ("MEM301",)
    next_step = "Lower what a step needs before a longer batch ends the job."

    def judge_rank(
        self, rank: RankFrame, probe: ProbeFrame, subject: Subject, job: JobFrame, scene: Scene
    ) -> Verdict:
        gpu = scene.frame.gpu(rank.gpu_index) if rank.gpu_index is not None else None
        values = scene.history.rank(rank.pid, "allocated_bytes").window(_WINDOW_SECONDS)
        if gpu is None or not gpu.memory_total_bytes or not values:
            return Verdict(subject=subject, holds=None, unknown_because="no allocator on a GPU")
        room = gpu.memory_total_bytes - (gpu.memory_reserved_bytes or 0)
        if room <= 0:
            return Verdict(
                subject=subject, holds=None, unknown_because="the sizes contradict each other"
            )
        peak = max(values)
        ratio = peak / room
        if ratio < self.limit["info_ratio"]:
            return Verdict(subject=subject, holds=False)
        severity: Severity = "warning" if ratio >= self.limit["warning_ratio"] else "info"
        return Verdict(
            subject=subject,
            holds=True,
            severity=severity,
            evidence=(
                compared("allocated_ratio", ratio, self.limit[f"{severity}_ratio"], "ratio"),
                compared("allocated_bytes", peak, float(room), "bytes"),
            ),
        )
