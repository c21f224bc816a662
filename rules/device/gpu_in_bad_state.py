from __future__ import annotations

from collections.abc import Iterable

from ...probes.model.driver_errors import OF_THE_DEVICE, fault_text
from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence, Verdict
from ..rule import Rule, Scene, gpu_subject
from ._remedies import remedy

_MOST_CALLS = 4


class GpuInBadState(Rule):
    """GPU in a bad state.

    Meaning:
        The driver knows this GPU, but answers calls about it with an error that is neither a
        refusal nor a feature that the chip lacks. The evidence names NVML's code: 16 needs a reset,
        8 has no external power, 11 gets no interrupts, 14 has a damaged infoROM, 999 is an error
        that the driver does not name. Where all calls fail, there are no values; where single ones
        do, they are named.
    Impact:
        A job on it fails at its next CUDA call or hangs in it, and one that starts cannot use it.
    Diagnosis:
        Read the kernel log around NVRM and Xid for this GPU, and run nvidia-smi -q -i GPU. In a
        container, with the GPU healthy on the host, the container has lost access to the device (a
        systemd reload does that).
    Mitigation:
        Follow the next step given with the code. A code that comes back after a reset, with another
        job, is the board's or its slot's: take the node out and send it to support.
    """

    id = "HW216"
    name = "GPU in a bad state"
    short = "bad state"
    severity = "error"
    costs = ("stalled", "wait")
    costs_job = True
    severities = ("warning", "error")
    hold_seconds = 0.5  # one failed reading is not enough, the second one is
    explains = ("HST107", "HW209", "HW210", "HW211", "HW217", "RUN436")
    next_step = "Read the kernel log for Xid and NVRM lines, drain the node and reset this GPU."

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        for gpu in scene.frame.gpus:
            if gpu.status == "stale":
                yield Verdict(
                    subject=gpu_subject(gpu), holds=None, unknown_because="GPU does not answer"
                )
            elif gpu.status == "lost" or not gpu.fault_code:
                yield Verdict(subject=gpu_subject(gpu), holds=False)
            else:
                yield _bad(gpu)


def _bad(gpu: GpuFrame) -> Verdict:
    certain = gpu.status == "failed" or gpu.fault_code in OF_THE_DEVICE
    return Verdict(
        subject=gpu_subject(gpu),
        holds=True,
        severity="error" if certain else "warning",
        evidence=(
            Evidence(signal="driver_fault", label="driver says", value=fault_text(gpu.fault_code)),
            Evidence(signal="failed_calls", value=_calls(gpu.failed_calls)),
            Evidence(signal="pci_bus_id", value=gpu.pci_bus_id),
        ),
        next_step=remedy(gpu.fault_code, gpu.index),
    )


def _calls(calls: tuple[str, ...]) -> str:
    if not calls:
        return "all"
    more = f" and {len(calls) - _MOST_CALLS} more" if len(calls) > _MOST_CALLS else ""
    return ", ".join(calls[:_MOST_CALLS]) + more
