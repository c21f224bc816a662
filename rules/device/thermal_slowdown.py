from __future__ import annotations

from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence, Verdict, against_peers, compared
from ..rule import GpuRule, Scene, Threshold, gpu_subject
from ._clocks import clock_loss, peer_clock

_THERMAL = frozenset({"hw thermal slowdown", "sw thermal slowdown"})
_NO_REASON = frozenset({"gpu idle"})


class ThermalSlowdown(GpuRule):
    """Thermal slowdown.

    Meaning:
        The chip or its memory is too hot, and the GPU has lowered its clocks to protect itself.
    Impact:
        This GPU computes slower, and in a synchronous job all its peers wait for it at every
        collective: one hot GPU sets the speed of the whole job.
    Diagnosis:
        Compare its temperature and SM clock with its peers on the same node. One hot GPU alone
        points to its own cooler, paste or airflow; all of them hot points to the room or the fans.
        With a cool chip, look at the memory temperature: it has a limit of its own.
    Mitigation:
        Move the job off this GPU or node and have the cooling checked. Until then a lower power
        limit (nvidia-smi -i GPU -pl WATTS, as root) gives steadier clocks than thermal slowdown
        does.
    """

    id = "HW201"
    name = "thermal slowdown"
    short = "overheating"
    severity = "warning"
    costs = ("throttled",)
    needs = ("temperature_celsius",)
    thresholds = {
        "temperature_celsius": Threshold(82.0, "celsius", "gpuprof; TraceML says 85"),
        "clock_loss_ratio": Threshold(0.15, "ratio", "gpuprof"),
    }
    hold_seconds = 5.0
    explains = ("HW202", "HW203", "HW210", "HW211", "RUN407", "RUN436")
    next_step = "Check the cooling of this GPU; meanwhile move the job or lower the power limit."

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        reasons = _THERMAL.intersection(gpu.throttle_reasons or ())
        limit = self.limit["temperature_celsius"]
        hot = (gpu.temperature_celsius or 0.0) >= limit
        if not reasons and not hot:
            return Verdict(subject=gpu_subject(gpu), holds=False)
        peers = peer_clock(gpu, scene.frame)
        if not reasons and not self._slowed_by_heat(gpu, peers):
            return Verdict(subject=gpu_subject(gpu), holds=False)
        return Verdict(
            subject=gpu_subject(gpu),
            holds=True,
            confidence=1.0 if reasons else 0.7,
            evidence=(
                compared("temperature_celsius", gpu.temperature_celsius, limit, "celsius"),
                Evidence(
                    signal="temperature_slowdown_celsius",
                    value=gpu.temperature_slowdown_celsius,
                    unit="celsius",
                ),
                Evidence(
                    signal="throttle_reasons",
                    value=", ".join(sorted(reasons)) if reasons else None,
                ),
                against_peers("sm_clock_hertz", gpu.sm_clock_hertz, peers, "hertz"),
                compared(
                    "memory_temperature_celsius",
                    gpu.memory_temperature_celsius,
                    gpu.memory_temperature_max_celsius,
                    "celsius",
                ),
            ),
        )

    def _slowed_by_heat(self, gpu: GpuFrame, peers: float | None) -> bool:
        """Some drivers hide the reason; heat with clock loss against peers tells as well."""
        loss = clock_loss(gpu, peers)
        # Another reason that the driver names accounts for the clock loss.
        other = set(gpu.throttle_reasons or ()) - _NO_REASON
        return loss is not None and not other and loss > self.limit["clock_loss_ratio"]
