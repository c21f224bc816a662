from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...probes.model.frame import Frame
from ...probes.model.kernel_log import KernelLogFrame
from ..finding import Severity, Subject, Verdict
from ..log_lines import FRESH, TOLD, LogRule, is_old, is_told, line_evidence, since, worst_of


class NvswitchError(LogRule):
    """NVSwitch error.

    Meaning:
        The driver has reported an error of an NVSwitch by its SXid code in the kernel log, fatal or
        not. All GPUs of the node reach each other through its switches.
    Impact:
        After a fatal one the links through that switch are down and jobs over them fail, mostly with
        an NVLink Xid (74, 144 to 150) on the GPUs. One that is not fatal is corrected, or costs a
        single transfer.
    Diagnosis:
        The line has code, port and what failed. The fabric manager's log tells which GPUs it has
        taken off the fabric; nvidia-smi nvlink -s shows the links of each.
    Mitigation:
        After a fatal SXid drain the node and reset all GPUs and switches together, or restart it.
        One that comes again with the same switch and port is a matter for support.
    """

    id = "HW219"
    name = "NVSwitch error"
    severity = "error"
    severities = ("info", "error")
    thresholds = {"fresh_seconds": FRESH, "told_seconds": TOLD}
    unpriced = "what it costs is seen in what it explains alone"
    hold_seconds = 0.0
    explains = ("HW206", "LNK503", "LNK504", "LNK514", "LNK517")
    next_step = "Drain the node and reset its GPUs and switches together, or restart it."

    def judge_log(self, frame: Frame) -> Iterable[Verdict]:
        by_switch: dict[str, list[KernelLogFrame]] = {}
        for event in frame.kernel_log:
            if event.kind == "sxid" and is_told(event, frame, self.limit["told_seconds"]):
                by_switch.setdefault(event.subject or "", []).append(event)
        for switch, events in by_switch.items():
            yield self._verdict(switch, events, frame)

    def _verdict(self, switch: str, events: Sequence[KernelLogFrame], frame: Frame) -> Verdict:
        jobs = [job.id for job in frame.running if len(job.ranks) > 1]
        job = jobs[0] if len(jobs) == 1 else None
        return Verdict(
            subject=Subject(kind="link", id=switch, job=job),
            holds=True,
            severity=worst_of(self._severity(event, frame, job) for event in events),
            since_monotonic_seconds=since(events[0], frame),
            evidence=tuple(line_evidence(events, frame)),
            next_step=None
            if any(event.level == "fatal" for event in events)
            else "Nothing now; watch whether it comes again on this switch.",
        )

    def _severity(self, event: KernelLogFrame, frame: Frame, job: str | None) -> Severity:
        old = is_old(event, frame, self.limit["fresh_seconds"], job)
        return "error" if event.level == "fatal" and not old else "info"
