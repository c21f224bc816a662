"""Of whom stacks should be taken, and why: only where something may be wrong, and only until it is clear."""

from __future__ import annotations

from ..probes.model.job_frames import RankFrame
from ..probes.model.rank_readings import DUMPS
from .finding import Judgement

ASKING = frozenset(
    {"HST107", "HST115", "HST125", "HW211", "RUN404", "RUN405", "RUN406", "RUN419", "RUN423"}
)
"""Findings, pending ones too, that stacks would make surer or more precise."""
LOOK_SECONDS = 3.0
"""For how long a request lasts; it is renewed while there is a reason."""
AGAIN_SECONDS = 30.0
"""A stall that lasts is looked at again at most this often."""


def worth_a_look(judgement: Judgement) -> tuple[int, ...]:
    """Pids of all ranks of the jobs that a finding asks about, unless they were just looked at."""
    jobs = {
        finding.subject.job
        for finding in judgement.findings
        if finding.state != "cleared" and finding.id in ASKING
    }
    now = judgement.frame.monotonic_seconds
    looked = {
        reading.pid: now - reading.monotonic_seconds
        for reading in judgement.frame.stacks
        if len(reading.main_stacks) >= DUMPS or reading.refusal
    }
    return tuple(
        rank.pid
        for job in judgement.frame.running
        if job.id in jobs
        for rank in job.ranks
        if _unclear(rank, looked)
    )


def _unclear(rank: RankFrame, looked: dict[int, float]) -> bool:
    return looked.get(rank.pid, AGAIN_SECONDS) >= AGAIN_SECONDS
