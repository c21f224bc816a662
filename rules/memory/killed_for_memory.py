from __future__ import annotations

from collections.abc import Iterable

from ...probes.model.frame import Frame
from ...probes.model.kernel_log import KernelLogFrame
from ..finding import Evidence, Subject, Verdict
from ..log_lines import FRESH, TOLD, LogRule, is_old, is_told, line_evidence, since

_MOST = 8


class KilledForMemory(LogRule):
    """process killed for memory.

    Meaning:
        The kernel has killed a process since its control group, or the whole host, had no memory
        left: its OOM killer says so in the kernel log, with what that process had.
    Impact:
        A rank or a worker of a job that is killed takes the job with it, or leaves it waiting. What
        others lost is information here.
    Diagnosis:
        Where a limit of a control group was met, the container's or Slurm's memory limit is too
        small for what the job holds: workers times prefetched batches, caches, a checkpoint that is
        gathered on one rank. Where the host had none left, see who uses it.
    Mitigation:
        Raise the limit, or let the job hold less: fewer workers, less prefetching, no copy of the
        data set in each worker, and saving a checkpoint in pieces.
    """

    id = "MEM310"
    name = "process killed for memory"
    short = "OOM kill"
    severity = "warning"
    severities = ("info", "warning")
    thresholds = {"fresh_seconds": FRESH, "told_seconds": TOLD}
    unpriced = "what a killed process had done is lost: that is not in the ledger"
    hold_seconds = 0.0
    explains = ("HST115",)
    next_step = "Raise the memory limit that it met, or let the job hold less (workers, caches)."

    def judge_log(self, frame: Frame) -> Iterable[Verdict]:
        killed = [
            event
            for event in frame.kernel_log
            if event.kind == "oom kill" and is_told(event, frame, self.limit["told_seconds"])
        ]
        for event in killed[-_MOST:]:
            old = is_old(event, frame, self.limit["fresh_seconds"], event.job_id)
            yield Verdict(
                subject=_subject(event),
                holds=True,
                severity="info" if event.job_id is None or old else "warning",
                since_monotonic_seconds=since(event, frame),
                evidence=(
                    Evidence(signal="command_name", label="process", value=event.command_name),
                    Evidence(
                        signal="anonymous_memory_bytes",
                        label="memory of its own",
                        value=event.anonymous_bytes,
                        unit="bytes",
                    ),
                    Evidence(
                        signal="limited_cgroup",
                        label="limit of",
                        value=event.limited_cgroup or "the whole host",
                    ),
                    *line_evidence((event,), frame),
                ),
            )


def _subject(event: KernelLogFrame) -> Subject:
    """By its words too: a pid comes back, and in a container it is not known."""
    return Subject(
        kind="process",
        id=f"{event.command_name} {event.pid or event.text}",
        rank=event.rank,
        job=event.job_id,
    )
