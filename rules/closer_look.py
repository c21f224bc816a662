"""Of whom stacks should be taken, and why: only where something may be wrong, and only until it is clear."""

from __future__ import annotations

from ..probes.model.frame import Frame
from ..probes.model.job_frames import JobFrame, RankFrame
from ..probes.model.rank_readings import DUMPS
from .finding import Judgement
from .progress import is_overdue

ASKING = frozenset(
    {"HST107", "HST115", "HST125", "HW211", "RUN404", "RUN405", "RUN406", "RUN419", "RUN423"}
)
"""Findings, pending ones too, that stacks would make surer or more precise."""
STILL_SECONDS = 3.0
"""A rank of several that has stood still for so long is looked at, once: what it waits for tells whom to
blame, also before a finding is pending. One alone may have nothing to do; it is looked at later."""
STILL_ALONE_SECONDS = 20.0
SLEEPS_SECONDS = 2.0
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
        for rank in job.ranks
        if (_unclear(rank, looked) if job.id in jobs else _stands(rank, job, looked, now))
    )


def standing(frame: Frame) -> tuple[int, ...]:
    """Pids of ranks whose main thread has slept for two seconds, or looks again and again for something:
    of these it is worth the cost to find out what they wait for."""
    return tuple(rank.pid for job in frame.running for rank in job.ranks if _sleeps(rank, frame))


def _sleeps(rank: RankFrame, frame: Frame) -> bool:
    activity = rank.activity
    if activity is None or rank.stopped:
        return False
    since = activity.still_since_seconds or activity.polls_since_seconds
    return since is not None and frame.monotonic_seconds - since >= SLEEPS_SECONDS


def _stands(rank: RankFrame, job: JobFrame, looked: dict[int, float], now: float) -> bool:
    """It has stood still or ended no step, and nobody has looked at it since."""
    activity = rank.activity
    if activity is None or rank.stopped:
        return False
    since = activity.still_since_seconds or activity.polls_since_seconds
    since = since or activity.asks_since_seconds
    several = len(job.ranks) > 1
    due = STILL_SECONDS if several else STILL_ALONE_SECONDS
    if since is None:  # busy, and where may change
        late = is_overdue(rank) and (rank.step_age_seconds or 0.0) >= due
        return late and _unclear(rank, looked)
    still = now - since
    seen = looked.get(rank.pid)
    return still >= due and (seen is None or seen > still)


def _unclear(rank: RankFrame, looked: dict[int, float]) -> bool:
    return looked.get(rank.pid, AGAIN_SECONDS) >= AGAIN_SECONDS
