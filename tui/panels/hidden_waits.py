"""What of a rank's backward is waiting for another rank: DDP's collectives run inside the backward."""

from __future__ import annotations

from ...probes.model.job_frames import JobFrame, RankFrame
from ...rules.distributed.straggler import waited_for_in_backward
from ...rules.finding import Judgement

BACKWARD = "backward"
COMM = "comm"


def late_rank(job: JobFrame, judgement: Judgement) -> RankFrame | None:
    """The rank that all others of the job wait for in each step, where a finding says so."""
    number = waited_for_in_backward(judgement.active, job)
    return next((rank for rank in job.living if rank.rank == number), None)


def hidden_wait(rank: RankFrame, late: RankFrame | None) -> float:
    """Share of the last minute: the part of its backward that the late rank does not need."""
    if late is None or rank is late:
        return 0.0
    own, needed = (each.phases_last_minute.get(BACKWARD, 0.0) for each in (rank, late))
    return max(0.0, own - needed)
