from __future__ import annotations

from ...probes.model.job_frames import JobFrame
from ...probes.model.process_readings import LimitsReading
from ..finding import Evidence, Subject, Verdict, compared
from ..price_reasons import NO_LOSS_YET
from ..rule import JobRule, Scene, Threshold
from ..trend import growth_per_second, seconds_left
from ._limits import too_old


class SharedMemoryNearlyFull(JobRule):
    """/dev/shm nearly full.

    Meaning:
        Little is left of the /dev/shm that the job's processes see; a container has one of its own,
        64 MB unless it was given more. DataLoader workers hand their batches over in it, and NCCL
        keeps its buffers between ranks there.
    Impact:
        Whoever touches a page that cannot be had is killed by SIGBUS: "DataLoader worker is killed by
        signal: Bus error", or NCCL cannot make its segments at the next start.
    Diagnosis:
        df -h /dev/shm and ls -lS /dev/shm inside the container. Files named torch_* of a job that has
        ended are left over; memory that only workers hold shrinks with fewer workers.
    Mitigation:
        Give the container more (docker --shm-size=16g or --ipc=host; in Kubernetes an emptyDir with
        medium Memory on /dev/shm), delete what dead jobs left there, or lower num_workers and
        prefetch_factor.
    """

    id = "HST127"
    name = "/dev/shm nearly full"
    short = "/dev/shm full"
    severity = "warning"
    unpriced = NO_LOSS_YET
    severities = ("warning", "error")
    thresholds = {
        "warning_ratio": Threshold(0.80, "ratio", "ours; pytorch#5040"),
        "error_ratio": Threshold(0.95, "ratio", "ours; an error only while it fills"),
        "free_bytes": Threshold(
            4e9, "bytes", "ours: whoever has that much left is not near its end"
        ),
    }
    hold_seconds = 15.0
    explains = ("INP708",)
    look_seconds = 5.0
    next_step = (
        "Give the container a larger /dev/shm (--shm-size, --ipc=host), or lower num_workers."
    )

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        found = self._fullest(job, scene)
        if isinstance(found, str):
            return Verdict(subject=subject, holds=None, unknown_because=found)
        if found is None:
            return Verdict(subject=subject, holds=False)
        total, free = found.shm_total_bytes or 0, found.shm_free_bytes or 0
        ratio = 1.0 - free / total
        if ratio < self.limit["warning_ratio"] or free >= self.limit["free_bytes"]:
            return Verdict(subject=subject, holds=False)
        free_series = scene.history.process(found.pid, "shm_free_bytes")
        shrinks = growth_per_second(free_series, falls=True)
        left = seconds_left(free, shrinks)
        bad = ratio >= self.limit["error_ratio"] and left is not None
        return Verdict(
            subject=subject,
            holds=True,
            severity="error" if bad else "warning",
            evidence=(
                compared(
                    "shm_used_ratio",
                    ratio,
                    self.limit["error_ratio" if bad else "warning_ratio"],
                    "ratio",
                ),
                compared("shm_free_bytes", float(free), self.limit["free_bytes"], "bytes"),
                Evidence(signal="shm_total_bytes", value=float(total), unit="bytes"),
                Evidence(signal="time_left_seconds", value=left, unit="seconds", origin="inferred"),
            ),
        )

    def _fullest(self, job: JobFrame, scene: Scene) -> LimitsReading | str | None:
        """Of those that its ranks see the one with least room; a text: why none is known."""
        why = "not looked at"
        found: list[LimitsReading] = []
        unlimited = False
        for rank in job.ranks:
            process = scene.frame.process(rank.pid)
            limits = scene.frame.limits_of(process) if process else None
            if limits is None:
                continue
            if old := too_old(limits, scene.frame):
                why = old
            elif limits.shm_total_bytes and limits.shm_free_bytes is not None:
                found.append(limits)
            elif "shm_total_bytes" in limits.missing:
                why = limits.missing["shm_total_bytes"]
            else:
                unlimited = True
        if not found:
            return None if unlimited else why
        return min(found, key=lambda each: (each.shm_free_bytes or 0) / (each.shm_total_bytes or 1))
