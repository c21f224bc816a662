from __future__ import annotations

from ...probes.model.host_frames import CgroupFrame
from ..finding import Evidence, Severity, Subject, Verdict, compared
from ..price_reasons import NO_LOSS_YET
from ..rule import CgroupRule, Scene, Threshold
from ..trend import growth_per_second, seconds_left


class HostMemoryLimit(CgroupRule):
    """Host memory near the limit of the group.

    Meaning:
        The control group of the job (container, Slurm step) has used nearly all of the host memory that
        it may have. File cache that the kernel can take back is not counted.
    Impact:
        At the limit the kernel kills a process of the group: a DataLoader worker or a rank, without a
        word in its log. Shortly before, everything that reads files becomes slow.
    Diagnosis:
        See on the processes screen who holds it. Workers that each copy a large data set (copy on write
        of Python objects), prefetched batches and pinned memory are the usual ones.
    Mitigation:
        Raise the limit, fewer workers or a lower prefetch_factor, keep the data set in arrays or
        memory-mapped files instead of lists of objects.
    """

    id = "MEM308"
    name = "host memory near its limit"
    short = "host memory"
    severity = "warning"
    unpriced = NO_LOSS_YET
    severities = ("warning", "error")
    needs = ("memory_used_bytes",)
    thresholds = {
        "warning_ratio": Threshold(0.90, "ratio", "gpuprof: 90/97 %"),
        "error_ratio": Threshold(0.97, "ratio", "gpuprof; an error only while it grows"),
    }
    hold_seconds = 10.0
    look_seconds = 2.0
    explains = ("HST109",)
    next_step = "Raise the memory limit, or use fewer loader workers, before the kernel kills one."

    def judge_cgroup(self, group: CgroupFrame, subject: Subject, scene: Scene) -> Verdict:
        if group.memory_limit_bytes is None:
            unknown = group.missing.get("memory_limit_bytes")
            if unknown:
                return Verdict(subject=subject, holds=None, unknown_because=unknown)
            return Verdict(subject=subject, holds=False)  # no limit
        if group.memory_limit_bytes <= 0:
            return Verdict(subject=subject, holds=None, unknown_because="the limit is 0")
        needed = (group.memory_used_bytes or 0) - (group.memory_inactive_file_bytes or 0)
        ratio = needed / group.memory_limit_bytes
        if ratio < self.limit["warning_ratio"]:
            return Verdict(subject=subject, holds=False)
        grows = growth_per_second(scene.history.cgroup(group.path, "memory_used_bytes"))
        left = seconds_left(group.memory_limit_bytes - needed, grows)
        bad = ratio >= self.limit["error_ratio"] and left is not None
        severity: Severity = "error" if bad else "warning"
        return Verdict(
            subject=subject,
            holds=True,
            severity=severity,
            evidence=(
                compared("memory_used_ratio", ratio, self.limit[f"{severity}_ratio"], "ratio"),
                Evidence(signal="memory_used_bytes", value=float(needed), unit="bytes"),
                Evidence(
                    signal="memory_limit_bytes", value=float(group.memory_limit_bytes), unit="bytes"
                ),
                Evidence(signal="time_left_seconds", value=left, unit="seconds", origin="inferred"),
            ),
        )
