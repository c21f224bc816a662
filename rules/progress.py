"""Whether a job's steps go on, and which of its ranks are stuck where they do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from ..probes.model.frame import Frame
from ..probes.model.job_frames import JobFrame, RankFrame
from ..probes.model.missing_reasons import NOT_COUNTED
from ..probes.model.vocabulary import LONG_PHASES

UNSETTLED_PHASES = LONG_PHASES
"""While a rank is in one of these, low utilization and the like say nothing, and no step is due."""
UNSETTLED_SECONDS = 600.0
"""Not for longer, though: by then PyTorch's collectives have timed out."""
STALL_SECONDS = 2.0
STALL_STEPS = 3.0
"""A step is overdue after so many typical ones and so many seconds more."""
_WAITING = "comm"
_IDLE = "idle"
"""It waits for whoever gives it work, a notebook for the next cell: no step is due, for however long."""


def not_counted(rank: RankFrame) -> str | None:
    """Why nothing is known of its steps, where what counts them is off: then no step of it is judged."""
    reason = rank.missing.get("step", "")
    return reason if reason.startswith(NOT_COUNTED) else None


NOT_GOING_ON = "its steps do not go on"

Typical = Callable[[RankFrame], float | None]
"""Seconds that a step of this rank usually takes."""


def is_unsettled(rank: RankFrame) -> bool:
    """Whether it starts, compiles, saves or evaluates, and for no longer than that may take."""
    age = rank.phase_age_seconds or 0.0
    return rank.phase in UNSETTLED_PHASES and age < UNSETTLED_SECONDS


def overdue_seconds(job: JobFrame) -> float | None:
    """For how long the whole job has ended no step, where that is too long; else ``None``."""
    alive = [rank for rank in job.living if rank.phase != _IDLE]
    ages = [age for rank in alive if (age := _step_age(rank)) is not None]
    steps = [rank.step_seconds for rank in alive if rank.step_seconds is not None]
    if not ages or not steps or any(map(is_unsettled, alive)):
        return None
    age = min(ages)
    return age if _too_long(age, median(steps)) else None


def steps_go_on(job: JobFrame) -> bool:
    """Whether shares of its steps say anything: none starts, saves or the like, and none is overdue."""
    return not any(map(is_unsettled, job.ranks)) and overdue_seconds(job) is None


def is_overdue(rank: RankFrame) -> bool:
    """Whether this rank has ended no step for much longer than its own steps take."""
    step, age = rank.step_p50_seconds or rank.step_seconds, _step_age(rank)
    return step is not None and age is not None and _too_long(age, step)


def stuck_ranks(frame: Frame, typical: Typical) -> list[RankFrame]:
    """Ranks whose step is overdue, without those that only wait in a collective for another one.

    Whom they wait for may have died; then nobody is stuck, and all of them wait.
    """
    found: list[RankFrame] = []
    for job in frame.running:
        found += _stuck_in(job.ranks, typical)
    return found


def _stuck_in(ranks: Sequence[RankFrame], typical: Typical) -> list[RankFrame]:
    if any(map(is_unsettled, ranks)):
        return []
    late = [rank for rank in ranks if _is_late(rank, typical)]
    culprits = [rank for rank in late if rank.phase != _WAITING]
    return [rank for rank in culprits or late if not rank.waits_for]


def _is_late(rank: RankFrame, typical: Typical) -> bool:
    age = _step_age(rank)
    if (
        rank.phase == _IDLE or age is None or age <= STALL_SECONDS
    ):  # most of the time, and that is cheap to tell
        return False
    step = typical(rank)
    return step is not None and _too_long(age, step)


def _step_age(rank: RankFrame) -> float | None:
    """Since its last step ended, without what it saved, evaluated or compiled since, once that is over."""
    if rank.step_age_seconds is None or rank.phase in LONG_PHASES:
        return rank.step_age_seconds
    return max(0.0, rank.step_age_seconds - rank.long_phase_seconds)


def _too_long(age_seconds: float, step_seconds: float) -> bool:
    return age_seconds > STALL_SECONDS + STALL_STEPS * step_seconds
