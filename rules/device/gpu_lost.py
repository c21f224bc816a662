from __future__ import annotations

from collections.abc import Iterable

from ...probes.model.driver_errors import fault_text
from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence, Verdict
from ..rule import Rule, Scene, gpu_subject


class GpuLost(Rule):
    """GPU lost.

    Meaning:
        The driver says that it cannot reach this GPU any more, or does not list it any more. Its
        row stays, without values.
    Impact:
        Its rank is dead or will hang in its next CUDA call, and all other ranks of the job wait
        for it in a collective until they time out.
    Diagnosis:
        Look for Xid 79 (fallen off the bus) or another Xid just before. Inside a container, with
        the GPU healthy on the host, the container has lost access to the device (a systemd reload
        does that).
    Mitigation:
        End the job; its last checkpoint is what is left. Take the node out and restart the host.
        If it comes again, reseat or replace the board. In a container, restart the container.
    """

    id = "HW208"
    name = "GPU lost"
    severity = "error"
    costs = ("stalled", "wait")
    costs_job = True
    hold_seconds = 0.5  # one reading is not enough, the second one is
    explains = ("HST107", "HW209", "HW210", "HW211", "RUN436")
    next_step = "End the job, take this node out of the queue and restart the host."

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        for gpu in scene.frame.gpus:
            if gpu.status != "lost":
                yield Verdict(subject=gpu_subject(gpu), holds=False)
                continue
            yield Verdict(
                subject=gpu_subject(gpu),
                holds=True,
                evidence=(
                    Evidence(signal="status", value=gpu.status_reason or gpu.status),
                    *_code(gpu),
                    Evidence(signal="age_seconds", value=gpu.age_seconds, unit="seconds"),
                    Evidence(signal="pci_bus_id", value=gpu.pci_bus_id),
                ),
            )


def _code(gpu: GpuFrame) -> tuple[Evidence, ...]:
    if not gpu.fault_code:
        return ()
    return (Evidence(signal="driver_fault", label="driver says", value=fault_text(gpu.fault_code)),)
