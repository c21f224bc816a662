from __future__ import annotations

from collections.abc import Iterable

from ...probes.model.frame import Frame
from ...probes.model.host_frames import CgroupFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import WORK, CgroupRule, Scene, Threshold

_WINDOW_SECONDS = 30.0


class CpuThrottling(CgroupRule):
    """CPU throttling of the control group.

    Meaning:
        The processes of the job used up their CPU quota and were stopped until the next period,
        again and again. The share of the periods in which that happened is what is judged.
    Impact:
        All threads of the container stop at once, for up to a tenth of a second each time: the
        loader falls behind, kernels are launched late, and the GPU waits.
    Diagnosis:
        Compare the quota (in cores) with what ranks and workers use. Short bursts throttle even
        when the mean use is below the quota. cat cpu.stat in the group shows nr_throttled.
    Mitigation:
        Raise the CPU limit of the container or pod, or remove it and keep the request. Else run
        fewer workers and set OMP_NUM_THREADS, so that fewer threads share the quota.
    """

    id = "HST110"
    name = "cgroup CPU throttling"
    short = "CPU throttled"
    severity = "warning"
    unpriced = NOT_KNOWN_HOW_MUCH
    severities = ("warning", "error")
    needs = ("throttled_ratio",)
    thresholds = {
        "warning_ratio": Threshold(0.05, "ratio", "ours; kubernetes#67577, #97445"),
        "error_ratio": Threshold(0.25, "ratio", "ours; second witness of an error"),
        "hurt_ratio": Threshold(
            0.50, "ratio", "k8s-device-plugin#56 lost half its speed; less is time lost, a warning"
        ),
    }
    hold_seconds = 10.0
    explains_waits_in = WORK
    explains = ("HST111", "HW210", "HW211", "INP701", "INP703", "RUN436", "RUN441", "RUN443")
    next_step = "Raise the CPU limit of this container or pod, or run fewer loader workers in it."

    def judge_cgroup(self, group: CgroupFrame, subject: Subject, scene: Scene) -> Verdict:
        ratio = scene.history.cgroup(group.path, "throttled_ratio").mean(_WINDOW_SECONDS)
        if ratio is None or ratio <= self.limit["warning_ratio"]:
            return Verdict(subject=subject, holds=False)
        loaded = _least_utilized(subject, scene)
        hurt = loaded is not None and loaded < self.limit["hurt_ratio"]
        bad = hurt and ratio > self.limit["error_ratio"]
        return Verdict(
            subject=subject,
            holds=True,
            severity="error" if bad else "warning",
            evidence=(
                compared(
                    "throttled_ratio",
                    ratio,
                    self.limit["error_ratio" if bad else "warning_ratio"],
                    "ratio",
                    mean_seconds=_WINDOW_SECONDS,
                ),
                *self._pressure(group, scene),
                Evidence(signal="cpu_quota_cores", value=group.cpu_quota_cores, unit="cores"),
                Evidence(signal="cpu_cores", value=_used(group, scene.frame), unit="cores"),
                compared(
                    "least_utilization_ratio",
                    loaded,
                    self.limit["hurt_ratio"],
                    "ratio",
                    mean_seconds=_WINDOW_SECONDS,
                ),
            ),
        )

    def _pressure(self, group: CgroupFrame, scene: Scene) -> Iterable[Evidence]:
        """For how long its tasks had to wait, where that is counted."""
        waited = scene.history.cgroup(group.path, "pressure_cpu_ratio").mean(_WINDOW_SECONDS)
        if waited is not None:
            yield Evidence(
                signal="pressure_cpu_ratio",
                value=waited,
                unit="ratio",
                mean_seconds=_WINDOW_SECONDS,
            )


def _least_utilized(subject: Subject, scene: Scene) -> float | None:
    """Utilization of the job's GPU that has least to do, over the window: of one moment it says little."""
    if subject.job is None:
        return None
    means = [
        scene.history.gpu(gpu.index, "utilization_ratio").mean(_WINDOW_SECONDS)
        for gpu in scene.frame.gpus
        if gpu.job_id == subject.job and gpu.status == "ok" and gpu.utilization_ratio is not None
    ]
    return min([mean for mean in means if mean is not None], default=None)


def _used(group: CgroupFrame, frame: Frame) -> float | None:
    pids = set(group.pids)
    cores = [
        process.cpu_cores
        for process in frame.processes
        if process.pid in pids and process.cpu_cores is not None
    ]
    return sum(cores) if cores else None
