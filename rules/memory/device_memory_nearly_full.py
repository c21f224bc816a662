from __future__ import annotations

from ...probes.model.gpu_frames import GpuFrame
from ..finding import Severity, Verdict, compared
from ..price_reasons import NO_LOSS_YET
from ..rule import GpuRule, Scene, Threshold, gpu_subject


class DeviceMemoryNearlyFull(GpuRule):
    """Device memory nearly full.

    Meaning:
        Little of the memory that processes can have is free. The driver counts what PyTorch's
        allocator keeps for reuse as used, so a full GPU is often a healthy one: that is
        information.
    Impact:
        At the warning level, what is allocated outside PyTorch's allocator may fail although
        PyTorch itself has room: a CUDA context, an NCCL communicator, a kernel loaded late. Each
        takes some hundred MiB, and a job that has run for hours can die at its first evaluation.
    Diagnosis:
        Compare with torch.cuda.memory_reserved() and memory_allocated() in the job: a large gap is
        cache. See on the processes' screen whether another process holds a part.
    Mitigation:
        Lower the batch size or the sequence length, use activation checkpointing, or cap the cache
        with torch.cuda.set_per_process_memory_fraction. With a large gap try
        PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.
    """

    id = "MEM301"
    name = "device memory nearly full"
    short = "memory tight"
    severity = "info"
    unpriced = NO_LOSS_YET
    severities = ("info", "warning")
    needs = ("memory_used_bytes", "memory_total_bytes")
    thresholds = {
        "info_ratio": Threshold(0.95, "ratio", "ours: healthy under 95 %"),
        "warning_ratio": Threshold(
            0.98, "ratio", "ours: under 1.6 GiB of 80 left; gpuprof and TraceML say 97 %"
        ),
    }
    next_step = "Compare with the allocator's own figures; if those are high too, use less memory."

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        # What the driver keeps for itself is nobody's to have.
        room = (gpu.memory_total_bytes or 0) - (gpu.memory_reserved_bytes or 0)
        if room <= 0:
            return Verdict(
                subject=gpu_subject(gpu),
                holds=None,
                unknown_because="the sizes contradict each other",
            )
        used = gpu.memory_used_bytes or 0
        ratio = used / room
        if ratio < self.limit["info_ratio"]:
            return Verdict(subject=gpu_subject(gpu), holds=False)
        severity: Severity = "warning" if ratio >= self.limit["warning_ratio"] else "info"
        return Verdict(
            subject=gpu_subject(gpu),
            holds=True,
            severity=severity,
            evidence=(
                compared(
                    "memory_used_of_available_ratio",
                    ratio,
                    self.limit[f"{severity}_ratio"],
                    "ratio",
                ),
                compared("memory_used_bytes", float(used), float(room), "bytes"),
            ),
        )
