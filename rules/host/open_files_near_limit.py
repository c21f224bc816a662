from __future__ import annotations

from collections.abc import Iterable

from ...probes.model.process_frames import ProcessFrame
from ...probes.model.process_readings import LimitsReading
from ..finding import Evidence, Subject, Verdict, compared
from ..price_reasons import NO_LOSS_YET
from ..rule import (
    Rule,
    Scene,
    Threshold,
    process_subject,
    unavailable_field,
)
from ..trend import growth_per_second, seconds_left
from ._limits import too_old


class OpenFilesNearLimit(Rule):
    """Open files near the limit.

    Meaning:
        The process has nearly as many descriptors open (files, sockets, pipes, shared memory) as its
        soft limit allows. Where their number only grows, something is opened and never closed.
    Impact:
        The next open fails: "Too many open files", "received 0 items of ancdata" from a DataLoader
        worker, a socket that cannot be made. The rank dies, and the whole job with it.
    Diagnosis:
        ls -l /proc/PID/fd | awk '{print $NF}' | sort | uniq -c | sort -n shows what they are. Many
        /dev/shm/torch_* or anon_inode entries are tensors that workers hand over one by one; many
        sockets are connections that nobody closes.
    Mitigation:
        Raise the soft limit (ulimit -n, LimitNOFILE=, docker --ulimit nofile) and restart; for tensors
        of workers torch.multiprocessing.set_sharing_strategy("file_system"). A running process can be
        given more: prlimit --pid PID --nofile=65536.
    """

    id = "HST126"
    name = "open files near the limit"
    short = "open files"
    severity = "warning"
    unpriced = NO_LOSS_YET
    severities = ("warning", "error")
    thresholds = {
        "warning_ratio": Threshold(0.80, "ratio", "gpud"),
        "error_ratio": Threshold(0.95, "ratio", "gpud; an error only while their number grows"),
    }
    hold_seconds = 15.0
    look_seconds = 5.0
    next_step = (
        "Raise its limit now: prlimit --pid PID --nofile=65536, and find what is never closed."
    )

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        """Of the ranks alone: of no other process these limits are read."""
        for process in scene.frame.processes:
            limits = scene.frame.limits_of(process)
            if limits is not None:
                subject = process_subject(process)
                old = too_old(limits, scene.frame)
                yield (
                    Verdict(subject=subject, holds=None, unknown_because=old)
                    if old
                    else self._judge(process, limits, subject, scene)
                )

    def _judge(
        self, process: ProcessFrame, limits: LimitsReading, subject: Subject, scene: Scene
    ) -> Verdict:
        if limits.open_files is None:
            return unavailable_field(subject, limits, "open_files")
        if limits.open_files_limit is None:
            if "open_files_limit" in limits.missing:
                return unavailable_field(subject, limits, "open_files_limit")
            return Verdict(subject=subject, holds=False)  # no limit
        ratio = limits.open_files / limits.open_files_limit
        if ratio < self.limit["warning_ratio"]:
            return Verdict(subject=subject, holds=False)
        grows = growth_per_second(scene.history.process(process.pid, "open_files"))
        left = seconds_left(limits.open_files_limit - limits.open_files, grows)
        bad = ratio >= self.limit["error_ratio"] and left is not None
        return Verdict(
            subject=subject,
            holds=True,
            severity="error" if bad else "warning",
            evidence=(
                compared(
                    "open_files_ratio",
                    ratio,
                    self.limit["error_ratio" if bad else "warning_ratio"],
                    "ratio",
                ),
                Evidence(signal="open_files", value=float(limits.open_files), unit="count"),
                Evidence(
                    signal="open_files_limit", value=float(limits.open_files_limit), unit="count"
                ),
                Evidence(signal="time_left_seconds", value=left, unit="seconds", origin="inferred"),
            ),
            next_step=f"Raise its limit now: prlimit --pid {process.pid} --nofile={_more(limits)},"
            f" and find what is never closed: ls -l /proc/{process.pid}/fd.",
        )


def _more(limits: LimitsReading) -> int:
    return max(65536, 4 * (limits.open_files_limit or 0))
