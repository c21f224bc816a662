"""The rank for which the others of its job wait in each step: by the steps that probes tell of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.vocabulary import LONG_PHASES
from ..stages import alike
from ..waits.ranks import WAITING_PHASES

STEPS = 10
"""So many of the newest steps are looked at: their median forgets a hiccup."""
LEAST_STEPS = 5
RECENT_SECONDS = 120.0
_IN_COLLECTIVES = frozenset({"comm"})

Shares = Mapping[str, float]
"""Phase → median share of a step that is spent in it."""
Known = Sequence[tuple[RankFrame, Shares]]


class Late(NamedTuple):
    """A rank that the others wait for in each step."""

    rank: RankFrame
    delay: float
    """Share of a step for which the others wait more than it does, as the next four."""
    waits: float
    others_wait: float
    phase: str
    """What it spends that time in."""
    spends: float
    others_spend: float
    distinguished: bool
    """The waiting was seen as such: not inside the backward, which hides it."""
    samples: int = 0
    """Stacks that tell it, where no probe does."""


def late_one(job: JobFrame, frame: Frame) -> Late | None:
    """The rank that is waited for most, among those that do the same work."""
    found = (_late_among(ranks, frame) for ranks in alike(job, frame))
    return max((late for late in found if late is not None), key=_delay, default=None)


def _delay(late: Late) -> float:
    return late.delay


def _late_among(ranks: Sequence[RankFrame], frame: Frame) -> Late | None:
    """``None`` where not all are known, or there is nobody to wait."""
    known = [(rank, _shares(rank, frame)) for rank in ranks]
    if len(known) < 2 or not all(shares for _, shares in known):
        return None
    seen, hidden = (latest(known, waiting) for waiting in (_IN_COLLECTIVES, WAITING_PHASES))
    # DDP's collectives run inside the backward, and so does the waiting: that is the weaker witness.
    if seen is not None and (hidden is None or seen.delay >= hidden.delay / 2):
        return seen
    return hidden


def latest(known: Known, waiting: frozenset[str]) -> Late | None:
    return max(_compared(known, waiting), key=lambda late: late.delay, default=None)


def _shares(rank: RankFrame, frame: Frame) -> Shares:
    past = frame.rank_history(rank.pid, rank.start_time_seconds)
    oldest = frame.monotonic_seconds - RECENT_SECONDS
    steps = [
        step
        for step in (past.steps[-STEPS:] if past else ())
        if step.monotonic_seconds >= oldest and step.seconds > 0
    ]
    if len(steps) < LEAST_STEPS:
        return {}
    phases = {phase for step in steps for phase in step.phases}
    return {
        phase: median(step.phases.get(phase, 0.0) / step.seconds for step in steps)
        for phase in phases
    }


def _compared(known: Known, waiting: frozenset[str]) -> Iterator[Late]:
    for rank, own in known:
        others = [shares for other, shares in known if other is not rank]
        waits, others_wait = _sum(own, waiting), median(_sum(each, waiting) for each in others)
        more = {
            phase: share - median(each.get(phase, 0.0) for each in others)
            for phase, share in own.items()
            if phase not in waiting
        }
        phase = max(more, key=lambda each: more[each], default=None)
        # A rank that compiles, saves or evaluates is late by its nature: other rules speak of that.
        if phase is None or phase in LONG_PHASES:
            continue
        yield Late(
            rank=rank,
            # Where the others wait for something else as well, it is late by what it does longer.
            delay=min(others_wait - waits, sum(each for each in more.values() if each > 0)),
            waits=waits,
            others_wait=others_wait,
            phase=phase,
            spends=own[phase],
            others_spend=own[phase] - more[phase],
            distinguished=waiting is _IN_COLLECTIVES,
        )


def _sum(shares: Shares, phases: frozenset[str]) -> float:
    return sum(shares.get(phase, 0.0) for phase in phases)
