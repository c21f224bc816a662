from __future__ import annotations

from collections.abc import Iterable

from ...probes.model.frame import Frame
from ...probes.model.kernel_log import KernelLogFrame
from ..finding import Evidence, Subject, Verdict
from ..log_lines import FRESH, LogRule, is_old, is_told, line_evidence, since

_KINDS = ("hung task", "cpu lockup")


class StuckInKernel(LogRule):
    """Stuck in the kernel.

    Meaning:
        The kernel log says that a task has been blocked for minutes (hung task), or that a CPU has
        not come out of the kernel for many seconds (soft or hard lockup).
    Impact:
        A rank or worker that is blocked so stands still and cannot be killed. A CPU that is locked up
        runs nobody else meanwhile. It is information where no process of a job is named.
    Diagnosis:
        The lines after it in the kernel log show the call stack: nfs, blk and the like mean storage,
        nv and uvm the NVIDIA driver, mlx5 the network card.
    Mitigation:
        Repair what it waits for. Where the driver itself is stuck, only a restart of the node helps:
        drain it, and keep the kernel log for support.
    """

    id = "HST130"
    name = "stuck in the kernel"
    short = "kernel stuck"
    severity = "warning"
    severities = ("info", "warning")
    thresholds = {"fresh_seconds": FRESH}
    unpriced = "what it costs is seen in what it explains alone"
    hold_seconds = 0.0
    explains = ("HST107",)
    next_step = "Read its call stack in the kernel log (dmesg -T), which names what it waits for."

    def judge_log(self, frame: Frame) -> Iterable[Verdict]:
        newest: dict[str, KernelLogFrame] = {}
        for event in frame.kernel_log:
            if event.kind in _KINDS and is_told(event, frame, self.limit["fresh_seconds"]):
                newest[f"{event.command_name} {event.pid or ''}".strip()] = event
        for who, event in newest.items():
            old = is_old(event, frame, self.limit["fresh_seconds"], event.job_id)
            yield Verdict(
                subject=Subject(kind="process", id=who, rank=event.rank, job=event.job_id),
                holds=True,
                severity="warning" if event.job_id is not None and not old else "info",
                since_monotonic_seconds=since(event, frame),
                evidence=(
                    Evidence(signal="command_name", label="process", value=event.command_name),
                    *line_evidence((event,), frame),
                ),
            )
