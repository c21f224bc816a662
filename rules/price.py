"""What a finding costs: whose time it takes, so that causes can be put in order by what mending them wins."""

from __future__ import annotations

from ..probes.model.frame import Frame
from .finding import Verdict


def gpus_that_pay(verdict: Verdict, frame: Frame) -> int:
    """How many GPUs lose the share of time that the verdict tells.

    Of a GPU or a rank it is that one, and those of the ranks that wait for it; of a job, a control group
    or the node all GPUs of the jobs concerned. Ranks without a GPU cost none.
    """
    subject = verdict.subject
    if subject.kind == "gpu":
        return 1
    jobs = [job for job in frame.running if subject.job is None or job.id == subject.job]
    ranks = [rank for job in jobs for rank in job.ranks if rank.gpu_index is not None]
    if subject.rank is not None and subject.kind in ("rank", "process"):
        waiters = verdict.path.waiters if verdict.path else frozenset[int]()
        who = waiters | verdict.payers | {subject.rank}
        return sum(rank.rank in who for rank in ranks)
    return len({rank.gpu_index for rank in ranks})
