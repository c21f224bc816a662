"""How evenly a rank's steps follow each other, without what takes long by its nature."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

import msgspec

from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.probe_readings import StepReading
from ...probes.model.vocabulary import LONG_PHASES
from ..finding import Subject, Verdict
from ..progress import NOT_GOING_ON, steps_go_on
from ..rank_rule import NONE_PROBED, not_known, probed_ranks
from ..rule import Scene

WARM_STEPS = 12
"""The first ones compile, tune and fill their queues."""
_NEAR_RATIO = 0.15
_MOST_RATIO = 0.75


def own_seconds(step: StepReading) -> float:
    """What the step took less what it saved, compiled or evaluated."""
    return max(0.0, step.seconds - sum(step.phases.get(phase, 0.0) for phase in LONG_PHASES))


def is_even(seconds: Sequence[float]) -> bool:
    """Most are near the median: a mean of two kinds of steps is no pace."""
    middle = median(seconds)
    near = sum(abs(each - middle) <= _NEAR_RATIO * middle for each in seconds)
    return near >= _MOST_RATIO * len(seconds)


class Pace(msgspec.Struct, frozen=True):
    """The kept steps of the ranks that have a probe, warm-up left out."""

    ranks: tuple[tuple[RankFrame, tuple[StepReading, ...]], ...]

    @property
    def first(self) -> tuple[StepReading, ...]:
        """Of one of them: in a synchronous job all go at the same pace."""
        return self.ranks[0][1]


def pace_of(job: JobFrame, subject: Subject, scene: Scene, seconds: float) -> Pace | Verdict:
    """The steps of the last ``seconds``; a verdict where they cannot be judged."""
    if not steps_go_on(job):
        return not_known(subject, NOT_GOING_ON)
    probed = probed_ranks(job, scene.frame)
    if not probed:
        return not_known(subject, NONE_PROBED)
    oldest = scene.frame.monotonic_seconds - seconds
    return Pace(tuple((rank, tuple(_kept(rank, scene, oldest))) for rank, _ in probed))


def _kept(rank: RankFrame, scene: Scene, oldest: float) -> Iterable[StepReading]:
    past = scene.frame.rank_history(rank.pid, rank.start_time_seconds)
    for step in past.steps if past else ():
        if step.number > WARM_STEPS and step.monotonic_seconds >= oldest and step.seconds > 0:
            yield step
