from __future__ import annotations

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence, Severity, Verdict, against_peers, compared
from ..rule import GpuRule, Scene, Threshold, gpu_subject, median_of, peers_of, rank_on
from ..series import Series
from ..serving import serves
from ._activity import BUSY_RATIO, LOW_SM_RATIO, Activity, activity
from ._surroundings import look_around

_RECENT_SECONDS = 10.0
_NOTHING_RATIO = 0.02
"""Of no step since the window began; one leaves more."""
_PEGGED_CORES = 0.9
_ALIKE_RATIO = 0.1
"""Peers that differ by less are like it."""
_UNFILLED_NAME = "SM activity low"
"""Beside a utilization of 100 %, which only says that some kernel ran, "utilization low" is no name."""
_UNFILLED = (
    "Kernels run all the time but fill the chip only in part: see in a profile what share of a "
    "step is communication or small kernels."
)


class UtilizationLow(GpuRule):
    """Utilization low.

    Meaning:
        A training job is on this GPU, and for half a minute the GPU has had little to do. Where
        the chip tells how much of it was active (SM activity), that is judged, else the
        utilization. Where some kernel ran all the time and yet little of the chip was active, the
        finding is called that: SM activity low. Of a server or a notebook, which does what it is
        asked to, it is information.
    Impact:
        The time is paid for and lost: at 35 % the job takes about three times as long as it could.
    Diagnosis:
        The evidence shows what else was busy. Loader workers at a full core each: the input is
        CPU-bound. Workers in state D or IO pressure: storage. The rank itself at a full core:
        Python launches too slowly or loads data itself. Everything idle: it waits for the network
        or for another rank. Most low utilization is data or model code, not hardware.
    Mitigation:
        Input: more workers, pin_memory, prefetch_factor, persistent_workers, cheaper transforms,
        data on local disks. Launches: larger batch, torch.compile, CUDA graphs. Waiting: find the
        rank that the others wait for.
    """

    id = "HW210"
    name = "utilization low"
    short = "util low"
    severity = "warning"
    costs = ("unexplained", "launch", "idle")
    severities = ("info", "warning")
    needs_any = ("sm_active_ratio", "utilization_ratio")
    thresholds = {
        "warning_ratio": Threshold(0.35, "ratio", "ours: root-cause it"),
        "info_ratio": Threshold(0.70, "ratio", "ours: look into it"),
        "window_seconds": Threshold(30.0, "seconds", "ours"),
        "startup_seconds": Threshold(
            120.0, "seconds", "ours; without a probe a new rank is still loading"
        ),
        "loading_seconds": Threshold(
            600.0, "seconds", "ours; weights and compilation of large models take minutes"
        ),
        "compile_seconds": Threshold(
            120.0, "seconds", "ours; without a probe one of a rank at work is not told from a loss"
        ),
    }
    settled_only = True
    explains = ("HW211",)
    job_wide = True
    next_step = "Look at the rank's stack and phases for what it does while the GPU is idle."

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        subject = gpu_subject(gpu)
        if gpu.job_id is None:
            return Verdict(subject=subject, holds=False)
        if gpu.mig_mode or gpu.migs:
            return Verdict(
                subject=subject, holds=None, unknown_because="its counters are of all MIG slices"
            )
        if self._young(gpu, scene.frame):
            return Verdict(subject=subject, holds=None, unknown_because="its rank has just started")
        if self._between_steps(gpu, scene):
            return Verdict(
                subject=subject,
                holds=None,
                unknown_because="no kernel runs while its rank computes: it may load or compile",
            )
        window = self.limit["window_seconds"]
        long = activity(gpu, scene.history, window)
        severity = self._severity(long)
        recent = activity(gpu, scene.history, min(_RECENT_SECONDS, window))
        # What was low and is no more would else be found after its end.
        if severity is None or self._severity(recent) is None:
            return Verdict(subject=subject, holds=False)
        if serves(gpu, scene.frame):
            severity = "info"
        return self._found(gpu, long, severity, scene)

    def _severity(self, seen: Activity) -> Severity | None:
        if seen.value is None or _without_work(seen) or seen.value >= self.limit["info_ratio"]:
            return None
        return "warning" if seen.value < self.limit["warning_ratio"] else "info"

    def _found(self, gpu: GpuFrame, seen: Activity, severity: Severity, scene: Scene) -> Verdict:
        window = self.limit["window_seconds"]
        peers = median_of(
            scene.history.gpu(peer.index, seen.signal).mean(window)
            for peer in peers_of(gpu, scene.frame)
        )
        around = look_around(gpu, scene, window, peers)
        seconds = scene.history.gpu(gpu.index, seen.signal).covered(window)
        rank = rank_on(gpu, scene.frame)
        limit = self.limit[f"{severity}_ratio"]
        busy = _always_busy(seen)
        return Verdict(
            subject=gpu_subject(gpu),
            holds=True,
            severity=severity,
            name=_UNFILLED_NAME if busy else None,
            evidence=(
                compared(seen.signal, seen.value, limit, "ratio", mean_seconds=seconds),
                *(
                    (against_peers(seen.signal, seen.value, peers, "ratio", mean_seconds=seconds),)
                    if _differs(seen.value, peers)
                    else ()
                ),
                *around.evidence(),
                *(
                    (Evidence(signal="phase", value=rank.phase),)
                    if rank is not None and rank.phase is not None
                    else ()
                ),
            ),
            next_step=_UNFILLED if busy else around.next_step(),
        )

    def _young(self, gpu: GpuFrame, frame: Frame) -> bool:
        """No probe tells that the rank has settled, and it is not old enough to have."""
        rank = rank_on(gpu, frame)
        if rank is None or rank.phase is not None:
            return False
        age = frame.monotonic_seconds - rank.start_time_seconds
        return 0.0 <= age < self.limit["startup_seconds"]

    def _between_steps(self, gpu: GpuFrame, scene: Scene) -> bool:
        """No probe tells the phase, no GPU of the job does anything, and the rank's own process fills a core.

        So it is while weights load and graphs compile; slow steps let kernels run in between.
        """
        rank = rank_on(gpu, scene.frame)
        if rank is None or rank.phase is not None:
            return False
        window = self.limit["window_seconds"]
        cores = scene.history.process(rank.pid, "cpu_cores").mean(window)
        if cores is None or cores < _PEGGED_CORES:
            return False
        if not all(
            _nothing(_utilization(each, scene), window) for each in peers_of(gpu, scene.frame)
        ):
            return False
        seen = _utilization(gpu, scene)
        age = scene.frame.monotonic_seconds - rank.start_time_seconds
        is_new = 0.0 <= age < self.limit["loading_seconds"]
        limit = self.limit["loading_seconds" if is_new else "compile_seconds"]
        return _nothing(seen, window) and not (
            seen.covered(limit) >= limit - _RECENT_SECONDS and _nothing(seen, limit)
        )


def _utilization(gpu: GpuFrame, scene: Scene) -> Series:
    return scene.history.gpu(gpu.index, "utilization_ratio")


def _nothing(seen: Series, seconds: float) -> bool:
    values = seen.window(seconds)
    return bool(values) and max(values) <= _NOTHING_RATIO


def _differs(value: float | None, peers: float | None) -> bool:
    """Whether the comparison says anything."""
    if value is None or peers is None:
        return False
    return abs(value - peers) > _ALIKE_RATIO * max(value, peers)


def _always_busy(seen: Activity) -> bool:
    return seen.utilization is not None and seen.utilization >= BUSY_RATIO


def _without_work(seen: Activity) -> bool:
    """Busy by the driver's word, but not by the chip's: that is another finding."""
    return seen.sm is not None and seen.sm < LOW_SM_RATIO and _always_busy(seen)
