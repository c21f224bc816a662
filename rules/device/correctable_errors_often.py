from __future__ import annotations

from itertools import pairwise

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence, Verdict, compared
from ..price_reasons import NO_LOSS_YET
from ..rule import GpuRule, Scene, Threshold, gpu_subject

_WINDOW_SECONDS = 300.0
_LEAST_SECONDS = 60.0
_LEAST_GROWTHS = 3
"""A row that was hit once counts in one leap: that is no rate."""
_HIGH_RATE_XID = 92


class CorrectableErrorsOften(GpuRule):
    """Correctable memory errors at a high rate.

    Meaning:
        ECC corrects errors of this GPU's memory again and again, many times a minute. A healthy board
        has a few a day. What counts is the rate: the total says only how long ago the driver was loaded.
    Impact:
        Each one was corrected, so no number is wrong yet. A part that fails so often fails for good soon:
        an uncorrectable error then ends the job.
    Diagnosis:
        nvidia-smi -i GPU -q -d ECC shows which memory counts (DRAM or SRAM). Look for Xid 92 (high rate
        of single-bit errors) and 63, and see whether it goes with a temperature of the memory.
    Mitigation:
        Save checkpoints more often, drain the node at the end of the job, reset the GPU and run NVIDIA's
        field diagnostics; return the board where the rate comes back.
    """

    id = "HW221"
    name = "correctable memory errors at a high rate"
    short = "ECC storm"
    severity = "warning"
    unpriced = NO_LOSS_YET
    needs = ("ecc_corrected",)
    thresholds = {
        "errors_per_minute": Threshold(
            60.0, "per_minute", "ours; Azure drains at 20 million and GCM at 50 million in all"
        ),
        "errors": Threshold(
            20e6, "errors", "Azure, of DRAM: since the driver was loaded, while they grow"
        ),
    }
    hold_seconds = 20.0
    look_seconds = 10.0
    clear_seconds = 60.0
    next_step = "Save checkpoints more often, and have the GPU tested when the job has ended."

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        subject = gpu_subject(gpu)
        series = scene.history.gpu(gpu.index, "ecc_corrected")
        seconds = series.covered(_WINDOW_SECONDS)
        leaps = [
            later - earlier
            for earlier, later in pairwise(series.window(_WINDOW_SECONDS))
            if later != earlier
        ]
        # A counter that goes back is that of a GPU which was reset: nobody knows what it missed.
        if seconds < _LEAST_SECONDS or len(leaps) < _LEAST_GROWTHS or min(leaps) < 0:
            return Verdict(subject=subject, holds=False)
        per_minute = (sum(leaps) - max(leaps)) / seconds * 60.0
        total = float(gpu.ecc_corrected or 0)
        many = total >= self.limit["errors"]
        if per_minute < self.limit["errors_per_minute"] and not many:
            return Verdict(subject=subject, holds=False)
        return Verdict(
            subject=subject,
            holds=True,
            evidence=(
                compared(
                    "corrected_errors_per_minute",
                    per_minute,
                    self.limit["errors_per_minute"],
                    "per_minute",
                    label="corrected errors",
                    mean_seconds=seconds,
                ),
                compared("ecc_corrected", total, self.limit["errors"], "errors"),
                *_witness(gpu, scene.frame),
            ),
        )


def _witness(gpu: GpuFrame, frame: Frame) -> tuple[Evidence, ...]:
    reported = any(xid.code == _HIGH_RATE_XID and xid.gpu_index == gpu.index for xid in frame.xids)
    celsius = gpu.memory_temperature_celsius
    return (
        *((Evidence(signal="xid", value=str(_HIGH_RATE_XID)),) if reported else ()),
        *(
            (Evidence(signal="memory_temperature_celsius", value=celsius, unit="celsius"),)
            if celsius is not None
            else ()
        ),
    )
