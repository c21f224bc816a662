from __future__ import annotations

from ...probes.model.host_frames import CgroupFrame
from ..finding import Evidence, Subject, Verdict
from ..rule import CgroupRule, Scene

_RECENT_SECONDS = 600.0


class OutOfMemoryKill(CgroupRule):
    """Killed: host out of memory.

    Meaning:
        The kernel has killed a process of the job's control group since its memory limit was reached.
        Kills from before this watch are told as information, without their time.
    Impact:
        A rank that was killed leaves the others waiting for it in their next collective; a loader worker
        ends its rank with "DataLoader worker is killed by signal: Killed".
    Diagnosis:
        dmesg names the process and what it held ("Memory cgroup out of memory: Killed process").
    Mitigation:
        Raise the limit, or lower what the group holds: fewer workers, a lower prefetch_factor, data in
        arrays or memory-mapped files instead of lists of objects.
    """

    id = "MEM309"
    name = "killed: host out of memory"
    short = "OOM kill"
    severity = "error"
    unpriced = "what a killed process had done is lost: that is not in the ledger"
    severities = ("info", "error")
    needs = ("oom_kills",)
    hold_seconds = 0.0
    explains = ("HST115", "INP708", "MEM308", "MEM310", "RUN424")
    next_step = "Raise the memory limit of the container or step, or use fewer loader workers."

    def judge_cgroup(self, group: CgroupFrame, subject: Subject, scene: Scene) -> Verdict:
        if not group.oom_kills:
            return Verdict(subject=subject, holds=False)
        series = scene.history.cgroup(group.path, "oom_kills")
        recent = series.grown(_RECENT_SECONDS) or 0.0
        return Verdict(
            subject=subject,
            holds=True,
            severity="error" if recent > 0 else "info",
            name=None if recent > 0 else "processes killed before this watch",
            evidence=(
                Evidence(signal="oom_kills", value=float(group.oom_kills), unit="count"),
                Evidence(signal="recent_oom_kills", value=recent, unit="count"),
            ),
        )
