from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...probes.model.frame import Frame
from ...probes.model.kernel_log import KernelLogFrame
from ...probes.model.process_frames import ProcessFrame
from ..finding import Evidence, Finding, Subject, Verdict
from ..log_lines import FRESH, TOLD, LogRule, is_old, is_told, line_evidence, since
from ._blocked import mount_words

_KINDS = ("disk error", "file system error")
_PARTITION = re.compile(r"((?:nvme\d+n\d+|mmcblk\d+|md\d+)(?=p\d+$)|(?:[svx]|xv)d[a-z]+(?=\d+$))")
_NAMESPACE = re.compile(r"(nvme\d+)n\d+")


class DiskError(LogRule):
    """disk error.

    Meaning:
        The kernel log has errors of a disk (reads or writes that failed, a controller that does not
        answer) or of a file system on one, which may since be read-only.
    Impact:
        Reading data or saving a checkpoint there fails or takes very long. It is information until
        a process of a job is found waiting for that disk.
    Diagnosis:
        smartctl -a and nvme smart-log show the state of the disk; mount shows whether its file
        system has become read-only. The lines before tell what came first.
    Mitigation:
        Move the job's data and checkpoints to another disk, drain the node, and replace the disk.
        A file system that was shut down needs a check before it is mounted again.
    """

    id = "HST128"
    name = "disk error"
    severity = "warning"
    severities = ("info", "warning")
    thresholds = {"fresh_seconds": FRESH, "told_seconds": TOLD}
    unpriced = "what it costs is seen in what it explains alone"
    hold_seconds = 0.0
    explains = ("HST107", "HST125", "INP701", "INP704")
    next_step = "See smartctl -a or nvme smart-log for this disk, and move the job's files off it."

    def judge_log(self, frame: Frame) -> Iterable[Verdict]:
        by_disk: dict[str, list[KernelLogFrame]] = {}
        for event in frame.kernel_log:
            if event.kind in _KINDS and is_told(event, frame, self.limit["told_seconds"]):
                by_disk.setdefault(event.subject or "", []).append(event)
        for disk, events in by_disk.items():
            yield self._verdict(disk, events, frame)

    def _verdict(self, disk: str, events: Sequence[KernelLogFrame], frame: Frame) -> Verdict:
        waiting = _waiting(disk, frame)
        old = all(is_old(event, frame, self.limit["fresh_seconds"]) for event in events)
        return Verdict(
            subject=Subject(kind="host", id=f"{frame.node} {disk}"),
            holds=True,
            severity="warning" if waiting and not old else "info",
            since_monotonic_seconds=since(events[0], frame),
            evidence=(
                Evidence(signal="disk", value=disk),
                *(
                    Evidence(signal="mount", value=words)
                    for words in dict.fromkeys(map(mount_words, waiting))
                ),
                *line_evidence(events, frame),
            ),
        )

    def can_explain(self, symptom: Finding, frame: Frame) -> bool:
        return any(
            symptom.subject.id.startswith(f"{process.pid}@")
            or (symptom.subject.rank is not None and symptom.subject.rank == process.rank)
            for event in frame.kernel_log
            if event.kind in _KINDS
            for process in _waiting(event.subject or "", frame)
        )


def _waiting(disk: str, frame: Frame) -> list[ProcessFrame]:
    return [
        process
        for process in frame.processes
        if process.job_id
        and (blocked := process.blocked_on) is not None
        and _same_disk(disk, (blocked.device or "").rpartition("/")[2])
    ]


def _same_disk(one: str, two: str) -> bool:
    """Partitions are of their disk, and all of an NVMe controller's are its own."""
    if not one or not two:
        return False
    ones, twos = _above(one), _above(two)
    return one in twos or two in ones


def _above(name: str) -> tuple[str, ...]:
    disk = found[1] if (found := _PARTITION.match(name)) else name
    controller = _NAMESPACE.match(disk)
    return (name, disk, *((controller[1],) if controller else ()))
