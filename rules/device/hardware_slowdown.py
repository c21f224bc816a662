from __future__ import annotations

from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence, Verdict, against_peers
from ..rule import GpuRule, Scene, Threshold, gpu_subject
from ._clocks import clock_loss, peer_clock

_BRAKE, _SLOWDOWN = "hw power brake", "hw slowdown"
_THERMAL = frozenset({"hw thermal slowdown", "sw thermal slowdown"})


class HardwareSlowdown(GpuRule):
    """Hardware slowdown.

    Meaning:
        The board itself has cut the clocks, by half or more. Power brake: the power supply or the
        chassis asked for it. Slowdown without a thermal reason: the board drew too much or was
        reported to.
    Impact:
        The GPU runs at a fraction of its speed for as long as it lasts, and its job with it.
    Diagnosis:
        Look at the power supplies and their redundancy in the BMC's event log, and whether other
        GPUs of the node brake at the same moment: all of them means the chassis, one of them its
        cable or board. Heat has a finding of its own.
    Mitigation:
        Restore the failed supply or feed, or lower the power limits of all GPUs of the node until
        the brake is gone. A single GPU that brakes alone goes to hardware support.
    """

    id = "HW207"
    name = "hardware slowdown"
    short = "HW slowdown"
    severity = "warning"
    costs = ("throttled",)
    severities = ("warning", "error")
    needs = ("throttle_reasons",)
    thresholds = {
        "clock_loss_ratio": Threshold(0.15, "ratio", "nvsonar; a second witness, for an error")
    }
    hold_seconds = 3.0
    explains = ("HW202", "HW203", "HW210", "HW211", "RUN407", "RUN436")
    next_step = "Check this node's power supplies in the BMC's event log."

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        reasons = set(gpu.throttle_reasons or ())
        heat_only = bool(reasons & _THERMAL) and _BRAKE not in reasons
        if heat_only or not reasons & {_BRAKE, _SLOWDOWN}:
            return Verdict(subject=gpu_subject(gpu), holds=False)
        peers = peer_clock(gpu, scene.frame)
        loss = clock_loss(gpu, gpu.sm_clock_max_hertz if peers is None else peers)
        slower = loss is not None and loss > self.limit["clock_loss_ratio"]
        return Verdict(
            subject=gpu_subject(gpu),
            holds=True,
            severity="error" if slower else "warning",
            evidence=(
                Evidence(
                    signal="throttle_reasons",
                    value=", ".join(sorted(reasons & {_BRAKE, _SLOWDOWN})),
                ),
                against_peers("sm_clock_hertz", gpu.sm_clock_hertz, peers, "hertz"),
                Evidence(signal="power_watts", value=gpu.power_watts, unit="watts"),
            ),
        )
