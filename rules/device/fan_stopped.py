from __future__ import annotations

from typing import Literal

from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence, Verdict, compared
from ..price_reasons import NO_LOSS_YET
from ..rule import GpuRule, Scene, Threshold, gpu_subject, unavailable_field


class FanStopped(GpuRule):
    """Fan stopped or failed while hot.

    Meaning:
        The chip is hot and the driver says of one of the board's own fans that it stands still: its
        speed is set to (nearly) none, or it is at 0 rotations though it is set to turn.
    Impact:
        The chip goes on heating up until it lowers its clocks, and in the end switches itself off. In
        a synchronous job all ranks wait for it from the first lowered clock on.
    Diagnosis:
        nvidia-smi -q -d TEMPERATURE,PERFORMANCE shows the fan's speed as it is set. A fan that is set
        to stand still was set so by somebody (nvidia-settings, a fan daemon), or the board's control
        of it is broken. Both numbers are the driver's intention (nvml.h): that a fan is blocked, worn
        out or unplugged is seen by a rising temperature alone, and not by this rule.
    Mitigation:
        Give the control back to the board (nvidia-settings -a GPUFanControlState=0), or end the fan
        daemon. Else stop the job on this GPU, look for a cable in the fan, and have it replaced.
    """

    id = "HW212"
    name = "fan stopped or failed while hot"
    short = "fan stopped"
    severity = "warning"
    unpriced = NO_LOSS_YET
    severities = ("warning", "error")
    thresholds = {
        "temperature_celsius": Threshold(
            75.0, "celsius", "ours; boards that rest their fans do so up to 50 to 60"
        ),
        "speed_ratio": Threshold(0.05, "ratio", "ours"),
        "least_rotations": Threshold(1.0, "per_second", "ours"),
    }
    hold_seconds = 15.0
    explains = ("HW201", "HW202", "HW203", "HW207", "HW210", "HW211", "RUN407", "RUN436")
    next_step = (
        "Give the fan's control back to the board, and have a fan that does not turn replaced."
    )

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        subject = gpu_subject(gpu)
        if gpu.fan_count == 0:
            # Not evaluated would be wrong: there is nothing here that it should have looked at.
            why = gpu.missing.get("fan_speed_ratio", "no fans")
            return Verdict(subject=subject, holds=None, unknown_because=why)
        state = self._state(gpu)
        if state == "unknown":
            return unavailable_field(subject, gpu, "fan_speed_ratio")
        temperature = gpu.temperature_celsius
        if temperature is None:  # asked last: on a board without fans it is no gap
            return unavailable_field(subject, gpu, "temperature_celsius")
        limit = self.limit["temperature_celsius"]
        if state == "turns" or temperature < limit:
            return Verdict(subject=subject, holds=False)
        slows = gpu.temperature_slowdown_celsius
        return Verdict(
            subject=subject,
            holds=True,
            severity="error" if slows is not None and temperature >= slows else "warning",
            name="fan at 0 rotations while hot"
            if state == "contradicted"
            else "fan stopped while hot",
            # The driver contradicts itself: one of its two numbers is wrong.
            confidence=0.6 if state == "contradicted" else 0.9,
            evidence=(
                compared("temperature_celsius", temperature, limit, "celsius"),
                compared(
                    "fan_speed_ratio", gpu.fan_speed_ratio, self.limit["speed_ratio"], "ratio"
                ),
                Evidence(
                    signal="fan_rotations_per_second",
                    value=gpu.fan_rotations_per_second,
                    unit="rotations_per_second",
                ),
                Evidence(signal="temperature_slowdown_celsius", value=slows, unit="celsius"),
            ),
        )

    def _state(self, gpu: GpuFrame) -> Literal["turns", "stopped", "contradicted", "unknown"]:
        """Of its slowest fan, as the driver intends it."""
        setting, turns = gpu.fan_speed_ratio, gpu.fan_rotations_per_second
        if turns is not None and turns >= self.limit["least_rotations"]:
            return "turns"
        if setting is not None and setting < self.limit["speed_ratio"]:
            return "stopped"
        if turns is not None:
            return "stopped" if setting is None else "contradicted"
        return "unknown" if setting is None else "turns"
