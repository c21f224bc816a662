"""Of whom stacks should be taken, and why: only where something may be wrong, and only until it is clear."""

from __future__ import annotations

from ..probes.model.frame import Frame
from ..probes.model.job_frames import JobFrame, RankFrame
from ..probes.model.rank_activity import ActivityFrame
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
CHANGED_SECONDS = 3.0
"""So long it was seen to do something else."""
SLEEPS_SECONDS = 2.0
UNEVEN_RATIO = 0.3
LEAST_LOOKS = 10
MOST_PEERS = 3
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


def uneven(frame: Frame) -> tuple[int, ...]:
    """Pids of ranks of which shares of phases are worth sampling: no probe tells of them, and some wait for
    others much more than one does."""
    return tuple(pid for job in frame.running for pid in _uneven_in(job, frame))


def _uneven_in(job: JobFrame, frame: Frame) -> tuple[int, ...]:
    ranks = job.living
    if len(ranks) < 2 or any(frame.probe(each.pid, each.start_time_seconds) for each in ranks):
        return ()
    if any(_waiting_looks(each) is None for each in ranks):
        return ()
    by_waiting = sorted(ranks, key=lambda each: _waiting_looks(each) or 0.0)
    least, most = (_waiting_looks(by_waiting[at]) or 0.0 for at in (0, -1))
    if most - least < UNEVEN_RATIO:
        return ()
    # Of many, those that wait most stand for all that wait.
    return tuple(each.pid for each in (by_waiting[0], *by_waiting[1:][-MOST_PEERS:]))


def _waiting_looks(rank: RankFrame) -> float | None:
    activity = rank.activity
    if activity is None or activity.looks < LEAST_LOOKS or activity.still_since_seconds is not None:
        return None
    return activity.waiting_looks_ratio


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
        return (late or _never_pauses(activity, now)) and _unclear(rank, looked)
    still = now - since
    seen = looked.get(rank.pid)
    return still >= due and (seen is None or seen > still)


def _never_pauses(activity: ActivityFrame, now: float) -> bool:
    """It has run for long without waiting for anything, and did otherwise before: it may be in a loop
    that does not end."""
    if activity.awake_since_seconds is None:
        return False
    awake = now - activity.awake_since_seconds
    return awake >= STILL_ALONE_SECONDS and activity.moved_seconds - awake >= CHANGED_SECONDS


def _unclear(rank: RankFrame, looked: dict[int, float]) -> bool:
    return looked.get(rank.pid, AGAIN_SECONDS) >= AGAIN_SECONDS
