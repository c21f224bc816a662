from __future__ import annotations

from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence, Verdict, against_peers, compared
from ..rule import GpuRule, Scene, Threshold, gpu_subject
from ._clocks import clock_loss, peer_clock

_HARMLESS = frozenset({"gpu idle", "application clocks"})
_AT_LOCK_RATIO = 0.98


class ClockStuckLow(GpuRule):
    """Clock stuck low.

    Meaning:
        The GPU is busy, the driver names nothing that slows it, and still its SM clock is far
        below that of its peers, or below what it may run at where there are no peers.
    Impact:
        Compute takes longer in proportion, and in a synchronous job every rank waits for this GPU.
    Diagnosis:
        Read nvidia-smi -i GPU -q -d CLOCK,PERFORMANCE. A clock equal to the application clock, or
        to a round number, was locked by somebody. A GPU that hangs in a low performance state
        after a power or thermal event needs a reset.
    Mitigation:
        Undo a lock with nvidia-smi -i GPU -rac and -rgc (as root). Otherwise drain the GPU and
        reset it (nvidia-smi -i GPU -r); if the clock stays low, have the board and its power
        cables checked.
    """

    id = "HW203"
    name = "clock stuck low"
    short = "clock stuck"
    severity = "warning"
    costs = ("throttled",)
    needs = ("utilization_ratio", "throttle_reasons", "sm_clock_hertz")
    thresholds = {
        "clock_loss_ratio": Threshold(0.15, "ratio", "nvsonar; GCM compares application clocks"),
        "busy_ratio": Threshold(0.5, "ratio", "ours"),
    }
    explains = ("HW210", "HW211", "RUN407", "RUN436")
    next_step = "Undo clock locks on this GPU (nvidia-smi -rac, -rgc); if none is set, reset it."

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        subject = gpu_subject(gpu)
        busy = (gpu.utilization_ratio or 0.0) >= self.limit["busy_ratio"]
        slowed = not _HARMLESS.issuperset(gpu.throttle_reasons or ())
        most = self.limit["clock_loss_ratio"]
        loss = clock_loss(gpu, gpu.sm_clock_max_hertz)
        if not busy or slowed or (loss is not None and loss <= most):
            return Verdict(subject=subject, holds=False)
        peers = peer_clock(gpu, scene.frame)
        allowed = _allowed(gpu)
        # Equal clocks on all of them are the choice of whoever runs the node.
        loss = clock_loss(gpu, allowed if peers is None else peers)
        if loss is None:
            return Verdict(subject=subject, holds=None, unknown_because="no clock to compare with")
        if loss <= most:
            return Verdict(subject=subject, holds=False)
        return Verdict(
            subject=subject,
            holds=True,
            confidence=0.8 if peers is None else 0.9,
            evidence=(
                against_peers("sm_clock_hertz", gpu.sm_clock_hertz, peers, "hertz")
                if peers is not None
                else compared("sm_clock_hertz", gpu.sm_clock_hertz, allowed, "hertz"),
                Evidence(
                    signal="sm_clock_application_hertz",
                    value=gpu.sm_clock_application_hertz,
                    unit="hertz",
                ),
                compared(
                    "utilization_ratio", gpu.utilization_ratio, self.limit["busy_ratio"], "ratio"
                ),
                Evidence(
                    signal="throttle_reasons", value=", ".join(gpu.throttle_reasons or ()) or "none"
                ),
            ),
            next_step=self._next_step(gpu),
        )

    def _next_step(self, gpu: GpuFrame) -> str | None:
        lock, highest = gpu.sm_clock_application_hertz, gpu.sm_clock_max_hertz
        if lock is None or highest is None or gpu.sm_clock_hertz is None:
            return None
        if lock >= highest or not _AT_LOCK_RATIO * lock <= gpu.sm_clock_hertz <= lock:
            return None
        return (
            f"Its application clock is set to {lock / 1e6:.0f} MHz of {highest / 1e6:.0f}: "
            f"undo that with nvidia-smi -i {gpu.index} -rac."
        )


def _allowed(gpu: GpuFrame) -> float | None:
    """What it may run at: a lock below the maximum is somebody's choice."""
    clocks = (gpu.sm_clock_application_hertz, gpu.sm_clock_max_hertz)
    return min((clock for clock in clocks if clock is not None), default=None)
