from __future__ import annotations

from ...probes.frame import GpuFrame
from ..finding import Evidence, Verdict
from ..rule import GpuRule, Scene, Threshold, gpu_subject, peer_median

THERMAL_REASONS = frozenset({"hw thermal slowdown", "sw thermal slowdown"})


class ThermalSlowdown(GpuRule):
    """Thermal slowdown.

    Meaning:
        The chip is too hot and has lowered its clocks to protect itself.
    Impact:
        This GPU computes slower, and in a synchronous job all its peers wait for it at every
        collective: one hot GPU sets the speed of the whole job.
    Diagnosis:
        Compare its temperature and SM clock with its peers on the same node. One hot GPU alone points
        to its own cooler, paste or airflow; all of them hot points to the room or the fans.
    Mitigation:
        Move the job off this GPU or node and have the cooling checked. Until then a lower power limit
        (nvidia-smi -pl) gives steadier clocks than thermal slowdown does.
    """

    id = "HW201"
    name = "thermal slowdown"
    severity = "warning"
    needs = ("throttle_reasons", "temperature_celsius")
    thresholds = {
        "temperature_celsius": Threshold(82.0, "celsius", "gpuprof; TraceML says 85"),
        "clock_loss_ratio": Threshold(0.15, "ratio", "gpuprof"),
    }
    hold_seconds = 5.0
    explains = ("HW203", "HW210")
    next_step = "Check the cooling of this GPU; meanwhile move the job or lower the power limit."

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        reasons = THERMAL_REASONS.intersection(gpu.throttle_reasons or ())
        peers = peer_median(gpu, scene.frame, "sm_clock_hertz")
        return Verdict(
            subject=gpu_subject(gpu),
            holds=bool(reasons) or self._slowed_by_heat(gpu, peers),
            confidence=1.0 if reasons else 0.7,
            evidence=(
                Evidence(
                    signal="temperature_celsius",
                    value=gpu.temperature_celsius,
                    threshold=gpu.temperature_slowdown_celsius or self.limit["temperature_celsius"],
                    comparison="against",
                    unit="celsius",
                ),
                Evidence(signal="throttle_reasons", value=", ".join(sorted(reasons)) or "none"),
                Evidence(
                    signal="sm_clock_hertz",
                    value=gpu.sm_clock_hertz,
                    threshold=peers,
                    comparison="against",
                    unit="hertz",
                ),
            ),
        )

    def _slowed_by_heat(self, gpu: GpuFrame, peer_clock: float | None) -> bool:
        """Some drivers hide the reason; heat together with clock loss against peers tells as well."""
        if gpu.temperature_celsius is None or gpu.sm_clock_hertz is None or peer_clock is None:
            return False
        hot = gpu.temperature_celsius > self.limit["temperature_celsius"]
        return hot and gpu.sm_clock_hertz < peer_clock * (1 - self.limit["clock_loss_ratio"])
