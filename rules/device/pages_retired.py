from __future__ import annotations

from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.missing_reasons import NOT_SUPPORTED
from ..finding import Evidence, Severity, Verdict, compared
from ..price_reasons import NO_LOSS_YET
from ..rule import GpuRule, Scene, Threshold, gpu_subject, unavailable_field


class PagesRetired(GpuRule):
    """Many memory pages retired.

    Meaning:
        A GPU from before Ampere takes pages of its memory out of use after errors, for the life of the
        board. This one has done so often. Newer chips replace rows instead, and have no such pages.
    Impact:
        Nothing is slower, and the memory that is lost is small. Its table of pages has 64 places: once
        it is full, the next bad page stays in use and ends jobs.
    Diagnosis:
        nvidia-smi -i GPU -q -d PAGE_RETIREMENT lists them with their cause: double-bit errors weigh more.
        See by the dates whether they came at once or go on coming.
    Mitigation:
        Watch it from ten on, plan its replacement from fifteen on, and return the board where the table
        is full.
    """

    id = "HW222"
    name = "many memory pages retired"
    short = "pages retired"
    severity = "info"
    severities = ("info", "warning", "error")
    unpriced = NO_LOSS_YET
    thresholds = {
        "info_pages": Threshold(10.0, "count", "GCM"),
        "warning_pages": Threshold(15.0, "count", "DCGM: from here on it watches the rate"),
        "error_pages": Threshold(63.0, "count", "DCGM: the table is full"),
    }
    hold_seconds = 0.0
    look_seconds = 10.0
    next_step = "Watch whether the number grows, and plan the replacement of the board."

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        subject = gpu_subject(gpu)
        pages = gpu.retired_pages
        if pages is None:
            reason = gpu.missing.get("retired_pages", "")
            if gpu.remap_pending is not None or reason == NOT_SUPPORTED:
                why = "this chip retires no pages: it replaces rows, or has no ECC memory"
                return Verdict(subject=subject, holds=None, unknown_because=why)
            return unavailable_field(subject, gpu, "retired_pages")
        severity = self._severity(pages)
        if severity is None:
            return Verdict(subject=subject, holds=False)
        pending = gpu.retired_pages_pending
        return Verdict(
            subject=subject,
            holds=True,
            severity=severity,  # no inference: the board itself keeps the list
            evidence=(
                compared("retired_pages", float(pages), self.limit[f"{severity}_pages"], "count"),
                *((Evidence(signal="retired_pages_pending", value="yes"),) if pending else ()),
            ),
            next_step="Take this node out of service and have the board replaced."
            if severity == "error"
            else None,
        )

    def _severity(self, pages: int) -> Severity | None:
        severities: tuple[Severity, ...] = ("error", "warning", "info")
        return next((each for each in severities if pages >= self.limit[f"{each}_pages"]), None)
