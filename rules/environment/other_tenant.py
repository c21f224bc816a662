from __future__ import annotations

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.gpu_readings import GpuProcessReading
from ..finding import Evidence, Verdict, compared
from ..rule import GpuRule, Scene, Threshold, gpu_subject, job_of

_SERVERS = frozenset({"nvidia-cuda-mps-server"})


class OtherTenant(GpuRule):
    """Other tenant on the GPU.

    Meaning:
        A process that does not belong to the job on this GPU uses its memory or its compute time.
    Impact:
        The two take turns, so this rank is slower than its peers and the whole job waits for it;
        and either may run out of memory through the other.
    Diagnosis:
        The evidence names the process, its user, and what it takes. Common ones are a forgotten
        notebook, a left-over of an earlier run, a second job on the same devices, and a monitoring
        agent that profiles.
    Mitigation:
        Ask its owner to end it, or end it yourself if it is yours. To keep others out, have the
        scheduler bind devices, or set the compute mode to exclusive (nvidia-smi -i GPU -c 3, as
        root).
    """

    id = "ENV601"
    name = "other tenant"
    severity = "warning"
    unpriced = "what the other one takes of the GPU is in none of the counters"
    needs = ("processes",)
    thresholds = {
        "memory_bytes": Threshold(500e6, "bytes", "ours; a bare CUDA context takes about as much"),
        "sm_ratio": Threshold(0.05, "ratio", "ours"),
    }
    explains = ("HW210", "MEM301", "RUN407", "RUN430", "RUN436")
    next_step = "Have the process named here ended, or moved to another GPU."

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        subject = gpu_subject(gpu)
        job = job_of(gpu, scene.frame)
        listed = gpu.processes or ()
        if job is None or not listed:
            return Verdict(subject=subject, holds=False)
        own = set(job.pids)
        if own.isdisjoint(on.pid for on in listed):
            return Verdict(
                subject=subject,
                holds=None,
                unknown_because="the driver's pids are not those seen here",
            )
        tenants = [on for on in listed if on.pid not in own and self._counts(on, scene.frame)]
        if not tenants:
            return Verdict(subject=subject, holds=False)
        largest = max(tenants, key=lambda on: (on.sm_ratio or 0.0, on.memory_bytes or 0))
        return Verdict(
            subject=subject,
            holds=True,
            evidence=(
                Evidence(
                    signal="processes",
                    value=", ".join(_named(on, scene.frame) for on in tenants[:3]),
                ),
                compared(
                    "memory_bytes",
                    None if largest.memory_bytes is None else float(largest.memory_bytes),
                    self.limit["memory_bytes"],
                    "bytes",
                ),
                compared("sm_ratio", largest.sm_ratio, self.limit["sm_ratio"], "ratio"),
            ),
        )

    def _counts(self, on: GpuProcessReading, frame: Frame) -> bool:
        much = on.memory_bytes is not None and on.memory_bytes > self.limit["memory_bytes"]
        works = on.sm_ratio is not None and on.sm_ratio > self.limit["sm_ratio"]
        if not much and not works:
            return False
        process = frame.process(on.pid)
        return process is None or process.name not in _SERVERS


def _named(on: GpuProcessReading, frame: Frame) -> str:
    process = frame.process(on.pid)
    if process is None:
        return f"process {on.pid}"
    owner = f" of {process.user}" if process.user else ""
    return f"{process.name or 'process'} {on.pid}{owner}"
