from __future__ import annotations

from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence, Verdict
from ..price_reasons import NO_LOSS_YET
from ..rule import GpuRule, Scene, gpu_subject
from ._before import before_evidence

_BEYOND = ("unrepairable_memory", "sram_threshold_exceeded")
_PENDING = ("channel_repair_pending", "tpc_repair_pending")


class BeyondRepair(GpuRule):
    """Damage pending repair or beyond it.

    Meaning:
        The chip has a damaged part. Pending: it will put a spare in its place (a memory channel, a
        TPC) at the next reset. Beyond repair: it has no spare left for errors of its memory, or its
        SRAM has had more uncorrectable errors than NVIDIA lets a board have.
    Impact:
        Pending costs nothing by itself, but until the reset the bad part can be hit again and end
        the job. A GPU beyond repair ends jobs again and again, or computes with wrong numbers.
    Diagnosis:
        Read nvidia-smi -i GPU -q -d ECC,ROW_REMAPPER, and look for Xids of its memory (48, 64, 94,
        95, 140, 156 to 161). Drivers before 550 (SRAM) and 590 (memory) do not tell.
    Mitigation:
        Pending: reset the GPU when the job has ended. Beyond repair: take the node out of service,
        run NVIDIA's field diagnostics, and return the board.
    """

    id = "HW218"
    name = "damage beyond repair"
    short = "beyond repair"
    severity = "error"
    unpriced = NO_LOSS_YET
    severities = ("warning", "error")
    hold_seconds = 0.0
    explains = ("HW204", "HW205", "HW217", "HW221", "HW222")
    next_step = "Take this node out of service and have the board replaced."

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        beyond = [signal for signal in _BEYOND if getattr(gpu, signal)]
        pending = [signal for signal in _PENDING if getattr(gpu, signal)]
        if not beyond and not pending:
            return Verdict(subject=gpu_subject(gpu), holds=False)
        signals = (*beyond, *pending)
        return Verdict(
            subject=gpu_subject(gpu),
            holds=True,
            severity="error" if beyond else "warning",
            name=None if beyond else "repair pending",
            evidence=(
                *(Evidence(signal=signal, value="yes") for signal in signals),
                *before_evidence(gpu, *signals),
            ),
            next_step=None if beyond else "Reset this GPU as soon as the job has ended.",
        )
