from __future__ import annotations

from statistics import median

from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Subject, Verdict
from ..job_time import has_gpus, share_of
from ..progress import NOT_GOING_ON, steps_go_on
from ..rank_rule import not_known, probed_ranks
from ..rule import JobRule, Scene, Threshold

_WINDOW_SECONDS = 30.0


class CopiesToDeviceSlow(JobRule):
    """Slow copies to the device.

    Meaning:
        For a large share of each step the main loop copies its batch to the GPU and waits for that.
    Impact:
        The share that is shown is lost on all GPUs of the job: nothing else runs meanwhile.
    Diagnosis:
        The rate over PCIe tells which kind it is. Far below what the link carries: memory that is not
        pinned, or many small tensors. Near it: more data than the link can take.
    Mitigation:
        pin_memory=True in the DataLoader with .to(device, non_blocking=True), one large copy instead of
        many small ones, smaller types (uint8 images, converted on the GPU), a batch ahead on a stream
        of its own.
    """

    id = "INP705"
    name = "slow copies to the device"
    short = "H2D copies"
    severity = "warning"
    thresholds = {
        "copy_ratio": Threshold(0.10, "ratio", "TraceML 10 %; fournex 15 %"),
        "slow_bytes_per_second": Threshold(
            6e9, "bytes_per_second", "ours: under 6 GB/s while copying"
        ),
    }
    hold_seconds = 20.0
    look_seconds = 3.0
    explains = ("HW210", "RUN436")
    next_step = "Pass pin_memory=True to the DataLoader and non_blocking=True to the copies."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        if not has_gpus(job.ranks):
            return Verdict(subject=subject, holds=False)
        if not steps_go_on(job):
            return not_known(subject, NOT_GOING_ON)
        found = share_of("h2d", job, scene, _WINDOW_SECONDS)
        if isinstance(found, str):
            return not_known(subject, found)
        if found.ratio < self.limit["copy_ratio"]:
            return Verdict(subject=subject, holds=False)
        rate = self._rate(job, scene, found.ratio)
        slow = rate is not None and rate < self.limit["slow_bytes_per_second"]
        pinned = [
            probe.loader.pin_memory
            for _, probe in probed_ranks(job, scene.frame)
            if probe.loader is not None
        ]
        return Verdict(
            subject=subject,
            holds=True,
            evidence=(
                found.evidence("copy_ratio", self.limit["copy_ratio"]),
                Evidence(
                    signal="copied_bytes_per_second",
                    label="while copying",
                    value=rate,
                    unit="bytes_per_second",
                    threshold=self.limit["slow_bytes_per_second"] if rate is not None else None,
                    comparison="<" if slow else "≥",
                    origin="inferred",
                ),
                *(
                    (Evidence(signal="pin_memory", value="off"),)
                    if pinned and not any(pinned)
                    else ()
                ),
            ),
            next_step=None if slow or rate is None else _MUCH,
            lost_ratio=found.ratio,
        )

    def _rate(self, job: JobFrame, scene: Scene, share: float) -> float | None:
        """Bytes a second over PCIe into the median GPU, of the time in which it copies."""
        means = [
            scene.history.gpu(rank.gpu_index, "pcie_rx_bytes_per_second").mean(_WINDOW_SECONDS)
            for rank in job.ranks
            if rank.gpu_index is not None
        ]
        known = [mean for mean in means if mean is not None]
        return median(known) / share if known else None


_MUCH = "Send less over PCIe (uint8 images, fewer copies), or copy the next batch while this one computes."
