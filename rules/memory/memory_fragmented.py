from __future__ import annotations

from ...probes.model.frame import ProbeFrame
from ...probes.model.job_frames import JobFrame, RankFrame
from ..finding import Evidence, Severity, Subject, Verdict, compared
from ..price_reasons import NO_LOSS_YET
from ..rank_rule import RankRule
from ..rule import Scene, Threshold


class MemoryFragmented(RankRule):
    """Fragmented device memory.

    Meaning:
        Much of what PyTorch's allocator holds lies in pieces between blocks in use: nobody uses them,
        and no larger tensor fits in.
    Impact:
        Memory runs out though the sum of what is free would do: "CUDA out of memory … reserved but
        unallocated". While the device has room beside it, it costs nothing.
    Diagnosis:
        gputop probe PID memory-snapshot writes the blocks for pytorch.org/memory_viz. Sequence lengths that vary
        from step to step are the usual reason.
    Mitigation:
        PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, pad to few lengths, or allocate the largest
        batch first. torch.cuda.empty_cache() after evaluation helps where phases differ.
    """

    id = "MEM305"
    name = "fragmented device memory"
    short = "fragmented"
    severity = "info"
    unpriced = NO_LOSS_YET
    severities = ("info", "warning")
    thresholds = {
        "fragmented_ratio": Threshold(0.30, "ratio", "stormlog"),
        "reserved_ratio": Threshold(0.30, "ratio", "TraceML: of the device"),
        "used_ratio": Threshold(0.95, "ratio", "ours: from there on it is short of memory"),
    }
    look_seconds = 5.0
    explains = ("MEM301", "MEM303")
    next_step = "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True at the next start."

    def judge_rank(
        self, rank: RankFrame, probe: ProbeFrame, subject: Subject, job: JobFrame, scene: Scene
    ) -> Verdict:
        allocator = probe.allocator
        gpu = scene.frame.gpu(rank.gpu_index) if rank.gpu_index is not None else None
        if (
            allocator is None
            or not allocator.reserved_bytes
            or allocator.inactive_split_bytes is None
        ):
            return Verdict(subject=subject, holds=None, unknown_because="no allocator on a GPU")
        if gpu is None or not gpu.memory_total_bytes or gpu.memory_used_bytes is None:
            return Verdict(subject=subject, holds=None, unknown_because="its GPU is not known")
        ratio = allocator.inactive_split_bytes / allocator.reserved_bytes
        large = allocator.reserved_bytes / gpu.memory_total_bytes >= self.limit["reserved_ratio"]
        if not large or ratio < self.limit["fragmented_ratio"]:
            return Verdict(subject=subject, holds=False)
        used = gpu.memory_used_bytes / gpu.memory_total_bytes
        severity: Severity = "warning" if used >= self.limit["used_ratio"] else "info"
        return Verdict(
            subject=subject,
            holds=True,
            severity=severity,
            evidence=(
                compared("fragmented_ratio", ratio, self.limit["fragmented_ratio"], "ratio"),
                Evidence(
                    signal="reserved_bytes", value=float(allocator.reserved_bytes), unit="bytes"
                ),
                compared("device_memory_used_ratio", used, self.limit["used_ratio"], "ratio"),
            ),
        )
