from __future__ import annotations

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence, Verdict, compared
from ..price_reasons import NO_LOSS_YET
from ..rule import GpuRule, Scene, Threshold, gpu_subject
from ._before import before_evidence
from ._xid_codes import UNCORRECTED_CODES

_FRESH_SECONDS = 600.0
_RESET = (
    "Reset this GPU as soon as the job has ended, so that the bad row is replaced; if the count grows "
    "again, have the board replaced."
)


class UncorrectableMemoryError(GpuRule):
    """Uncorrectable memory error.

    Meaning:
        The GPU has counted memory errors that ECC could not correct: since this monitor started,
        or before, but since the driver was loaded or the GPU was reset last (the volatile count);
        those say "before this watch". The lifetime count is history, and shown as such.
    Impact:
        The data that was hit is lost. The driver ends the processes that used it (Xid 48, 94 or
        95); one that went on may compute with wrong numbers.
    Diagnosis:
        Look for an Xid on this GPU, for a pending row remap, and for the action that the driver
        asks for (nvidia-smi -i GPU -q -d ECC,ROW_REMAPPER). A second witness of these makes it an
        error.
    Mitigation:
        Save what can be saved, drain the GPU, and reset it, so that the bad row is replaced. If
        the count grows again afterwards, return the board (more than 4 lifetime SRAM errors are a
        reason, says ml-engineering).
    """

    id = "HW204"
    name = "uncorrectable memory error"
    short = "memory error"
    severity = "warning"
    unpriced = NO_LOSS_YET
    severities = ("warning", "error")
    needs = ("ecc_uncorrected_since_start",)
    thresholds = {"errors": Threshold(1.0, "errors", "GCM and Azure: any")}
    hold_seconds = 0.0
    explains = ("HW205", "HW210", "HW211", "HW217", "HW221", "RUN436")
    next_step = "Drain this GPU and reset it; start the job again from its last good checkpoint."

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        count = gpu.ecc_uncorrected_since_start or 0
        witness = _second_witness(gpu, scene.frame)
        before = count < self.limit["errors"]
        if before:
            count = gpu.ecc_uncorrected or 0
        if count < self.limit["errors"]:
            return Verdict(subject=gpu_subject(gpu), holds=False)
        return Verdict(
            subject=gpu_subject(gpu),
            holds=True,
            severity="error" if witness else "warning",
            name="memory error before this watch" if before else None,
            evidence=(
                compared("uncorrected_errors", float(count), self.limit["errors"], "errors"),
                *(before_evidence(gpu, "ecc_uncorrected") if before else ()),
                *((witness,) if witness else ()),
                Evidence(
                    signal="ecc_uncorrected_lifetime",
                    value=gpu.ecc_uncorrected_lifetime,
                    unit="errors",
                ),
            ),
            next_step=_RESET if before else None,
        )


def _second_witness(gpu: GpuFrame, frame: Frame) -> Evidence | None:
    for xid in frame.xids:
        fresh = frame.time_seconds - xid.time_seconds < _FRESH_SECONDS
        if fresh and xid.code in UNCORRECTED_CODES and xid.gpu_index == gpu.index:
            return Evidence(signal="xid", value=str(xid.code))
    for signal in ("remap_failed", "remap_pending", "retired_pages_pending"):
        if getattr(gpu, signal):
            return Evidence(signal=signal, value="yes")
    if gpu.recovery_action not in (None, "none"):
        return Evidence(signal="recovery_action", value=gpu.recovery_action)
    return None
