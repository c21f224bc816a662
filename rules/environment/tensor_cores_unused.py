from __future__ import annotations

from statistics import median

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rank_rule import probed_ranks
from ..rule import JobRule, Scene, Threshold, unavailable_field

_WINDOW_SECONDS = 60.0
_LEAST_SECONDS = 30.0
_TENSOR = "tensor_active_ratio"


class TensorCoresUnused(JobRule):
    """Tensor cores unused.

    Meaning:
        The multiprocessors of the job's GPUs are busy, and their tensor cores are not: the matrix products
        run in a number format, or in kernels, that does not use them. Most often mixed precision is off.
    Impact:
        Tensor cores multiply matrices many times as fast as the other units of the chip. How much of the
        step that would win depends on how much of it is made of such products.
    Diagnosis:
        The evidence names the precision where a probe tells. torch.get_float32_matmul_precision() gives
        "highest" where float32 products may not use TF32.
    Mitigation:
        torch.autocast("cuda", dtype=torch.bfloat16), or torch.set_float32_matmul_precision("high") to keep
        float32 with TF32. Models without large matrix products, and work in float64, have no use for them.
    """

    id = "ENV605"
    name = "tensor cores unused"
    short = "no tensor use"
    severity = "info"
    unpriced = NOT_KNOWN_HOW_MUCH
    thresholds = {
        "tensor_active_ratio": Threshold(0.005, "ratio", "ours: tensor activity of 0"),
        "sm_active_ratio": Threshold(0.50, "ratio", "ours: else there is little work at all"),
    }
    look_seconds = 10.0
    next_step = "Turn mixed precision on (torch.autocast with bfloat16), or let float32 use TF32."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        gpus = _gpus(job, scene.frame)
        if not gpus:
            return Verdict(subject=subject, holds=False)
        without = next((gpu for gpu in gpus if gpu.tensor_active_ratio is None), None)
        if without is not None:
            return unavailable_field(subject, without, _TENSOR)
        tensor = [scene.history.gpu(gpu.index, _TENSOR) for gpu in gpus]
        if min(series.covered(_WINDOW_SECONDS) for series in tensor) < _LEAST_SECONDS:
            return Verdict(subject=subject, holds=False)
        most = max(series.mean(_WINDOW_SECONDS) or 0.0 for series in tensor)
        busy = [
            scene.history.gpu(gpu.index, "sm_active_ratio").mean(_WINDOW_SECONDS) for gpu in gpus
        ]
        sm = median([value or 0.0 for value in busy])
        unused = most < self.limit["tensor_active_ratio"] and sm >= self.limit["sm_active_ratio"]
        if not unused:
            return Verdict(subject=subject, holds=False)
        mean = _WINDOW_SECONDS
        return Verdict(
            subject=subject,
            holds=True,
            evidence=(
                compared(_TENSOR, most, self.limit[_TENSOR], "ratio", mean_seconds=mean),
                compared(
                    "sm_active_ratio", sm, self.limit["sm_active_ratio"], "ratio", mean_seconds=mean
                ),
                *_precision(job, scene.frame),
            ),
        )


def _gpus(job: JobFrame, frame: Frame) -> list[GpuFrame]:
    indices = sorted({rank.gpu_index for rank in job.living if rank.gpu_index is not None})
    found = [gpu for index in indices if (gpu := frame.gpu(index)) is not None]
    return [gpu for gpu in found if gpu.status == "ok"]


def _precision(job: JobFrame, frame: Frame) -> tuple[Evidence, ...]:
    told = sorted({probe.precision for _, probe in probed_ranks(job, frame) if probe.precision})
    return (Evidence(signal="precision", value=", ".join(told)),) if told else ()
