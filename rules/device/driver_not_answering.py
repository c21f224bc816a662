from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.gpu_readings import gpu_source_name
from ..finding import Evidence, Severity, Subject, Verdict, compared
from ..rule import Rule, Scene, Threshold, gpu_subject

_SOURCE = "nvml"


class DriverNotAnswering(Rule):
    """Driver not answering.

    Meaning:
        A call into the NVIDIA driver does not come back, so the values shown are old. About one
        GPU: only the calls for that one. About the node: for all of its GPUs, or for the driver as
        a whole.
    Impact:
        Processes that call the driver for this GPU hang too, often unkillable in state D.
        nvidia-smi hangs as well, and a job that looks idle may be waiting for the driver.
    Diagnosis:
        Read the kernel log for an Xid (119 and 120 are time-outs of the GPU's firmware) and for
        "NVRM". See whether the ranks are in state D with an nv wait channel. Do not start more
        nvidia-smi: each one hangs too.
    Mitigation:
        Wait half a minute: a driver under heavy load or in a reset comes back. If it does not,
        drain the node; a GPU reset needs all its processes gone, and where those are unkillable
        only a restart of the host helps.
    """

    id = "HW209"
    name = "driver not answering"
    short = "driver silent"
    severity = "warning"
    costs = ("stalled", "wait")
    costs_job = True
    severities = ("warning", "error")
    thresholds = {
        "age_seconds": Threshold(5.0, "seconds", "ours; a loaded driver may take 2 s"),
        "error_age_seconds": Threshold(30.0, "seconds", "ours; resets take up to half a minute"),
    }
    hold_seconds = 3.0
    clear_seconds = 5.0
    explains = ("HST107", "HW210", "HW211", "RUN436")
    next_step = "Read the kernel log for Xid or NVRM lines, and start no further nvidia-smi."

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        frame = scene.frame
        silent = {gpu.index: gpu for gpu in frame.gpus if self._silent(gpu, frame)}
        node = self._node(silent, frame)
        yield node
        for gpu in frame.gpus:
            # One finding where all are silent: then it is the driver, not the GPU.
            if gpu.index in silent and not node.holds:
                yield self._gpu(gpu, frame)
            else:
                yield Verdict(subject=gpu_subject(gpu), holds=False)

    def _silent(self, gpu: GpuFrame, frame: Frame) -> bool:
        """An old reading alone is no silence: this monitor may have been stopped, or without a core."""
        source = frame.source(gpu_source_name(gpu.index))
        busy = source.busy_seconds if source else None
        had = gpu.age_seconds if busy is None else min(gpu.age_seconds, busy)
        return gpu.status == "stale" and had >= self.limit["age_seconds"]

    def _gpu(self, gpu: GpuFrame, frame: Frame) -> Verdict:
        source = frame.source(gpu_source_name(gpu.index))
        busy = source.busy_seconds if source else None
        return Verdict(
            subject=gpu_subject(gpu),
            holds=True,
            severity=self._severity(gpu.age_seconds, busy),
            since_monotonic_seconds=gpu.monotonic_seconds,
            evidence=(
                compared("age_seconds", gpu.age_seconds, self.limit["age_seconds"], "seconds"),
                Evidence(signal="busy_seconds", value=busy, unit="seconds")
                if busy is not None
                else Evidence(signal="status", value=gpu.status_reason or gpu.status),
            ),
        )

    def _node(self, silent: Mapping[int, GpuFrame], frame: Frame) -> Verdict:
        subject = Subject(kind="node", id=frame.node)
        source = frame.source(_SOURCE)
        busy = (source.busy_seconds or 0.0) if source else 0.0
        # A driver that answers with an error about each GPU does answer: HW216 and HW208 tell of it.
        told = all(gpu.status in ("failed", "lost") for gpu in frame.gpus)
        gone = source is not None and source.status == "failed" and bool(frame.gpus) and not told
        all_silent = len(silent) >= 2 and all(
            gpu.index in silent or gpu.status in ("lost", "failed") for gpu in frame.gpus
        )
        if not all_silent and not gone and busy < self.limit["age_seconds"]:
            return Verdict(subject=subject, holds=False)
        age = max(busy, min((gpu.age_seconds for gpu in silent.values()), default=0.0))
        return Verdict(
            subject=subject,
            holds=True,
            severity=self._severity(age, _hung_seconds(frame)),
            since_monotonic_seconds=frame.monotonic_seconds - age,
            evidence=(
                compared("age_seconds", age, self.limit["age_seconds"], "seconds"),
                _how_many(silent, frame),
                Evidence(
                    signal="nvml_source",
                    label="source nvml",
                    value=(source.reason or source.status) if source else None,
                ),
            ),
        )

    def _severity(self, age: float, busy: float | None) -> Severity:
        """An error by two witnesses: nothing was read for long, and a call has hung as long."""
        limit = self.limit["error_age_seconds"]
        return "error" if age >= limit and (busy or 0.0) >= limit else "warning"


def _how_many(silent: Mapping[int, GpuFrame], frame: Frame) -> Evidence:
    if not frame.gpus:
        return Evidence(
            signal="gpus_known",
            label="GPUs known",
            value="none: the driver hangs before it lists them",
        )
    return Evidence(
        signal="gpus_not_answering",
        label="GPUs not answering",
        value=f"{len(silent)} of {len(frame.gpus)}",
    )


def _hung_seconds(frame: Frame) -> float:
    """How long the oldest call into the driver has been going on."""
    return max(
        (
            source.busy_seconds or 0.0
            for source in frame.sources
            if source.name.split(" ", 1)[0] == _SOURCE
        ),
        default=0.0,
    )
