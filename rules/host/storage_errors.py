from __future__ import annotations

from collections.abc import Iterable

from ..finding import Subject, Verdict
from ..kernel_events import AGE, began, lines_of, recent
from ..rule import Rule, Scene


class StorageErrors(Rule):
    """Storage errors in the kernel log.

    Meaning:
        The kernel has logged in the last ten minutes that a disk failed a request, that an NFS server
        does not respond, or that a task was blocked for minutes.
    Impact:
        Whoever reads or writes there waits: loader workers, a checkpoint, and with them the whole job.
    Diagnosis:
        dmesg -T; nfsstat and the server itself; smartctl -a of the disk.
    Mitigation:
        Mend or fail over the server, replace the disk. A mount with soft,timeo= gives errors instead of
        waiting for ever.
    """

    id = "HST128"
    name = "storage errors, kernel log"
    short = "storage errors"
    severity = "warning"
    thresholds = {"age_seconds": AGE}
    hold_seconds = 0.0
    explains = ("HST107", "HST125", "INP701", "INP704")
    next_step = "Read the kernel log (dmesg -T), and see whether that server or disk answers."
    unpriced = "what it costs is seen in what it explains alone"

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        frame = scene.frame
        events = recent(
            frame, ("storage", "network file system", "stuck task"), self.limit["age_seconds"]
        )
        if events:
            yield Verdict(
                subject=Subject(kind="host", id=frame.node),
                holds=True,
                evidence=lines_of(events),
                since_monotonic_seconds=began(events, frame),
            )
