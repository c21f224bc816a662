from __future__ import annotations

from statistics import median

from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..job_time import has_gpus, share_of
from ..progress import NOT_GOING_ON, steps_go_on
from ..rank_rule import not_known, probed_ranks
from ..rule import JobRule, Scene, Threshold

_WINDOW_SECONDS = 30.0
_LEAST_STEPS = 8


class PageableCopies(JobRule):
    """Copies from pageable memory.

    Meaning:
        The main loop copies its batches to the GPU out of memory that is not pinned (its DataLoader has
        pin_memory off): the driver copies each piece into a pinned buffer of its own first, the host
        stands in the copy for as long as the GPU does, and the link carries a part of what it could.
    Impact:
        The share that is shown is what the copies take longer than at the pace of the link. Pinned ones
        can also run beside the GPU's computing, and then cost nothing.
    Diagnosis:
        gputop probe PID profile 3 shows "Memcpy HtoD (Pageable -> Device)". Many small tensors make copies
        slow as well; one large tensor at a few GB/s is pageable for certain.
    Mitigation:
        pin_memory=True in the DataLoader and .to(device, non_blocking=True) in the loop. Pinning in the
        main thread right before the copy gains nothing: let the loader's thread do it.
    """

    id = "INP709"
    name = "copies from pageable memory"
    short = "not pinned"
    severity = "warning"
    thresholds = {
        "copy_ratio": Threshold(0.10, "ratio", "as INP705; TraceML 10 %"),
        "link_ratio": Threshold(0.50, "ratio", "ours: under half of what the link carries"),
        "spans_ratio": Threshold(
            0.75, "ratio", "ours: the shorter of the copy's spans on host and GPU over the longer"
        ),
    }
    hold_seconds = 20.0
    look_seconds = 3.0
    explains = ("HW210", "INP705", "RUN436")
    next_step = "Pass pin_memory=True to the DataLoader and non_blocking=True to the copies."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        if not has_gpus(job.ranks):
            return Verdict(subject=subject, holds=False)
        if not steps_go_on(job):
            return not_known(subject, NOT_GOING_ON)
        found = share_of("h2d", job, scene, _WINDOW_SECONDS)
        if isinstance(found, str):
            return not_known(subject, found)
        if found.ratio < self.limit["copy_ratio"] or not _unpinned(job, scene):
            return Verdict(subject=subject, holds=False)
        spans, used = _spans_ratio(job, scene), _link_ratio(job, scene, found.ratio)
        if spans is None or used is None:
            why = "it takes the GPU's time of the copies, and what PCIe carries and could carry"
            return Verdict(subject=subject, holds=None, unknown_because=why)
        if spans < self.limit["spans_ratio"] or used >= self.limit["link_ratio"]:
            return Verdict(subject=subject, holds=False)
        return Verdict(
            subject=subject,
            holds=True,
            confidence=0.8,
            evidence=(
                found.evidence("copy_ratio", self.limit["copy_ratio"]),
                Evidence(signal="pin_memory", value="off"),
                compared(
                    "link_ratio",
                    used,
                    self.limit["link_ratio"],
                    "ratio",
                    label="of the link's rate while copying",
                    origin="inferred",
                ),
                compared(
                    "spans_ratio",
                    spans,
                    self.limit["spans_ratio"],
                    "ratio",
                    label="host's and GPU's time in the copy alike",
                ),
            ),
            lost_ratio=found.ratio * (1.0 - used),
            lost_origin="inferred",
        )


def _unpinned(job: JobFrame, scene: Scene) -> bool:
    """All loaders of which that is known leave their batches where they are."""
    pins = [
        probe.loader.pin_memory
        for _, probe in probed_ranks(job, scene.frame)
        if probe.loader is not None and probe.loader.pin_memory is not None
    ]
    return bool(pins) and not any(pins)


def _spans_ratio(job: JobFrame, scene: Scene) -> float | None:
    """Of the median rank: a host that waits for its copy is in it for as long as the GPU."""
    found: list[float] = []
    for rank in job.ranks:
        past = scene.frame.rank_history(rank.pid, rank.start_time_seconds)
        timed = [
            (step.phases.get("h2d", 0.0), step.gpu_phases.get("h2d", 0.0))
            for step in (past.steps if past else ())
            if step.gpu_phases
        ]
        host, gpu = sum(each for each, _ in timed), sum(each for _, each in timed)
        if len(timed) >= _LEAST_STEPS and host > 0 and gpu > 0:
            found.append(min(host, gpu) / max(host, gpu))
    return median(found) if found else None


def _link_ratio(job: JobFrame, scene: Scene, share: float) -> float | None:
    """What PCIe carried into the median GPU in the time of the copies, of what it could carry."""
    found: list[float] = []
    for rank in job.ranks:
        gpu = scene.frame.gpu(rank.gpu_index) if rank.gpu_index is not None else None
        if gpu is None or not gpu.pcie_limit_bytes_per_second:
            continue
        rate = scene.history.gpu(gpu.index, "pcie_rx_bytes_per_second").mean(_WINDOW_SECONDS)
        if rate is not None:
            found.append(min(1.0, rate / share / gpu.pcie_limit_bytes_per_second))
    return median(found) if found else None
