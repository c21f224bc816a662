from __future__ import annotations

from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence, Verdict, against_peers
from ..rule import GpuRule, Scene, Threshold, gpu_subject, peer_median
from ._clocks import clock_loss, peer_clock

_POWER_CAP = "sw power cap"
_AT_LIMIT_RATIO = 0.9
"""Of the limit."""


class PowerCap(GpuRule):
    """Power cap with clock loss.

    Meaning:
        The GPU is held at its power limit, and runs clearly slower for it than its peers under the
        same load. The cap alone is normal at full load and is no finding.
    Impact:
        In a synchronous job all ranks run at the pace of this GPU, so its loss is the whole job's.
    Diagnosis:
        Compare its power limit with that of its peers: a lower one was set by somebody (nvidia-smi
        -q -d POWER). With the same limit and more heat it loses power to leakage; with the same
        limit and heat the chip is a weaker one, or this rank has more work than the others.
    Mitigation:
        Give it the limit of its peers (nvidia-smi -i GPU -pl WATTS, as root); the default is in
        the same query. If the limits are equal, improve its cooling or put the job on another GPU.
    """

    id = "HW202"
    name = "power cap with clock loss"
    short = "power cap"
    severity = "warning"
    costs = ("throttled",)
    clear_seconds = 30.0
    """A rank that waits for its data draws less for many a look: see `_uncapped`."""
    needs = ("throttle_reasons", "sm_clock_hertz")
    thresholds = {
        "clock_loss_ratio": Threshold(
            0.15, "ratio", "ours; below it the cap is normal, as at Azure"
        )
    }
    explains = ("HW210", "HW211", "RUN407", "RUN436")
    next_step = "Compare this GPU's power limit and temperature with its peers' and align them."

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        subject = gpu_subject(gpu)
        if _POWER_CAP not in (gpu.throttle_reasons or ()):
            return _uncapped(gpu)
        peers = peer_clock(gpu, scene.frame)
        loss = clock_loss(gpu, peers)
        if loss is None:
            return Verdict(
                subject=subject, holds=None, unknown_because="fewer than two peers under like load"
            )
        if loss <= self.limit["clock_loss_ratio"]:
            return Verdict(subject=subject, holds=False)
        limit = peer_median(gpu, scene.frame, "power_limit_watts")
        return Verdict(
            subject=subject,
            holds=True,
            evidence=(
                against_peers("sm_clock_hertz", gpu.sm_clock_hertz, peers, "hertz"),
                against_peers("power_limit_watts", gpu.power_limit_watts, limit, "watts"),
                Evidence(signal="power_watts", value=gpu.power_watts, unit="watts"),
                Evidence(signal="throttle_reasons", value=", ".join(gpu.throttle_reasons or ())),
            ),
            next_step=self._next_step(gpu, limit),
        )

    def _next_step(self, gpu: GpuFrame, peers: float | None) -> str | None:
        own = gpu.power_limit_watts
        if own is None or peers is None or own >= peers - 1.0:
            return None
        return (
            f"Raise this GPU's power limit to that of its peers: "
            f"nvidia-smi -i {gpu.index} -pl {peers:.0f}."
        )


def _uncapped(gpu: GpuFrame) -> Verdict:
    """While it waits for data or for others, nothing holds it; that says nothing of when it computes."""
    watts, limit = gpu.power_watts, gpu.power_limit_watts
    if watts is not None and limit and watts < _AT_LIMIT_RATIO * limit:
        return Verdict(
            subject=gpu_subject(gpu),
            holds=None,
            unknown_because="it draws less than its limit now",
        )
    return Verdict(subject=gpu_subject(gpu), holds=False)
