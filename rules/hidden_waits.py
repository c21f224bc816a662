"""What of a rank's backward is waiting for another rank: DDP's collectives run inside the backward."""

from __future__ import annotations

from collections.abc import Iterable

from ..probes.model.job_frames import JobFrame, RankFrame
from .distributed.straggler import waited_for_in_backward
from .finding import Finding

BACKWARD = "backward"
COMM = "comm"


def late_rank(job: JobFrame, active: Iterable[Finding]) -> RankFrame | None:
    """The rank that all others of the job wait for in each step, where an active finding says so."""
    number = waited_for_in_backward(active, job)
    if number is None:
        return None
    return next((rank for rank in job.living if rank.rank == number), None)


def hidden_wait(rank: RankFrame, late: RankFrame | None) -> float:
    """Share of the last minute: the part of its backward that the late rank does not need."""
    if late is None or rank is late:
        return 0.0
    own, needed = (each.phases_last_minute.get(BACKWARD, 0.0) for each in (rank, late))
    return max(0.0, own - needed)
