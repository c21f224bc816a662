from __future__ import annotations

from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence, Verdict, compared
from ..price_reasons import NO_LOSS_YET
from ..rule import GpuRule, Scene, Threshold, gpu_subject
from ._before import before_evidence

_FLAGS = ("remap_failed", "remap_pending", "retired_pages_pending", "bank_remap_pending")


class RowRemapPending(GpuRule):
    """Row remap pending or failed.

    Meaning:
        The GPU wants to replace a bad row (a bank; before Ampere: a page) of its memory. Pending: it will,
        at the next reset. Failed: it has no spare row left for it.
    Impact:
        Pending costs nothing by itself, but until the reset the bad row can be hit again and end
        the job. After a failure the memory is not safe to use.
    Diagnosis:
        Read nvidia-smi -i GPU -q -d ROW_REMAPPER (before Ampere: PAGE_RETIREMENT), and look for
        Xid 63 or 64 and for uncorrectable errors on this GPU.
    Mitigation:
        Pending: reset the GPU when the job has ended (nvidia-smi -i GPU -r, as root), which clears
        it. Failed, or more remapped rows than the limit: take the node out and return the board.
    """

    id = "HW205"
    name = "row remap pending"
    short = "remap pending"
    severity = "warning"
    unpriced = NO_LOSS_YET
    severities = ("warning", "error")
    needs_any = _FLAGS
    thresholds = {
        "remapped_rows": Threshold(512.0, "rows", "Azure, DCGM: more is a reason to return")
    }
    hold_seconds = 0.0
    explains = ("HW217",)
    next_step = "Reset this GPU as soon as the job has ended."

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        rows = gpu.remapped_rows_uncorrected
        worn = rows is not None and rows > self.limit["remapped_rows"]
        flags = [signal for signal in _FLAGS if getattr(gpu, signal)]
        if not flags and not worn:
            return Verdict(subject=gpu_subject(gpu), holds=False)
        return Verdict(
            subject=gpu_subject(gpu),
            holds=True,
            # No inference: the chip itself keeps this flag, over resets too.
            severity="error" if gpu.remap_failed else "warning",
            evidence=(
                *(Evidence(signal=signal, value="yes") for signal in flags),
                *before_evidence(gpu, *flags),
                compared(
                    "remapped_rows_uncorrected",
                    None if rows is None else float(rows),
                    self.limit["remapped_rows"],
                    "rows",
                ),
                Evidence(signal="recovery_action", value=gpu.recovery_action),
            ),
            next_step="Take this node out of service and have the board replaced."
            if gpu.remap_failed or worn
            else None,
        )
