from __future__ import annotations

from collections.abc import Sequence

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.gpu_readings import GpuProcessReading
from ..finding import Evidence, Verdict, compared
from ..rule import GpuRule, Scene, Threshold, gpu_subject, rank_on

_GIB = 2.0**30
_DEAD_STATES = frozenset({"Z", "X"})


class MemoryHeldByNoProcess(GpuRule):
    """Memory held by no live process.

    Meaning:
        Memory of this GPU is in use, but the driver lists no process on it, or only processes that
        have exited. The driver's own reserve is not counted.
    Impact:
        The next job on this GPU has that much less memory and may fail at start with "out of
        memory".
    Diagnosis:
        Look for zombies and for children of a dead job that still hold the device: fuser -v
        /dev/nvidia* (as root) names every process that has it open, also those of other
        containers, which the driver may not list. A hidden live process would show some
        utilization.
    Mitigation:
        End what fuser names, if it is left over; a zombie goes when its parent is ended. If
        nothing holds the device, reset the GPU (nvidia-smi -i GPU -r, as root).
    """

    id = "MEM302"
    name = "memory held by no live process"
    short = "memory held"
    severity = "warning"
    unpriced = "memory alone is lost to it, and no time"
    needs = ("memory_used_bytes", "processes")
    thresholds = {
        "memory_bytes": Threshold(_GIB, "bytes", "ours; pytorch#1085, Megatron#3684"),
        "unlisted_reserve_bytes": Threshold(_GIB, "bytes", "ours; old drivers count it as used"),
        "utilization_ratio": Threshold(0.05, "ratio", "ours; more: somebody unseen is at work"),
    }
    explains = ("HW210", "MEM301", "RUN436")
    next_step = "Run fuser -v /dev/nvidia* as root and end what is left over; else reset the GPU."

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        subject = gpu_subject(gpu)
        if gpu.mig_mode:
            return Verdict(subject=subject, holds=None, unknown_because="GPU is split by MIG")
        used = gpu.memory_used_bytes or 0
        limit = self.limit["memory_bytes"]
        if gpu.memory_reserved_bytes is None:
            limit += self.limit["unlisted_reserve_bytes"]
        if used <= limit or self._somebody_works(gpu, scene.frame):
            return Verdict(subject=subject, holds=False)
        listed = gpu.processes or ()
        living = _living(listed, scene.frame)
        if living is None:
            return Verdict(
                subject=subject,
                holds=None,
                unknown_because="its processes cannot be seen from here",
            )
        if living:
            return Verdict(subject=subject, holds=False)
        return Verdict(
            subject=subject,
            holds=True,
            confidence=0.9 if _pids_are_ours(scene.frame) else 0.5,
            evidence=(
                compared("memory_used_bytes", float(used), limit, "bytes"),
                Evidence(
                    signal="processes",
                    value=", ".join(f"{on.pid} (dead)" for on in listed) or "none listed",
                ),
                Evidence(signal="utilization_ratio", value=gpu.utilization_ratio, unit="ratio"),
            ),
        )

    def _somebody_works(self, gpu: GpuFrame, frame: Frame) -> bool:
        """A living rank is known to be on it, listed or not, or kernels run."""
        rank = rank_on(gpu, frame)
        process = frame.process(rank.pid) if rank else None
        alive = process is not None and process.state not in _DEAD_STATES
        return alive or (gpu.utilization_ratio or 0.0) > self.limit["utilization_ratio"]


def _living(listed: Sequence[GpuProcessReading], frame: Frame) -> bool | None:
    """Whether one of the listed processes lives; ``None`` where that cannot be seen."""
    seen = [frame.process(on.pid) for on in listed]
    if any(process is not None and process.state not in _DEAD_STATES for process in seen):
        return True
    # A pid that is not there is dead only if the driver's pids are those of this namespace.
    if None in seen and not _pids_are_ours(frame):
        return None
    return False


def _pids_are_ours(frame: Frame) -> bool:
    return any(process.gpus for process in frame.processes)
