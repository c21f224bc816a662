"""The training job's steps: how long each phase of each rank takes, and who waits for whom.

All ranks start a step together and end it together, since each step ends in a collective: a rank that
is done early spins in ``comm`` until the slowest has come.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from .activity import SPINNING, TRAINING, Work
from .timeline import MICROSECONDS, Stretch, Timeline

RANKS = 8
FOR_EVER = 1e8
"""Seconds. A phase of this length is one that never ends."""

_STEPS = 16
"""So many steps are made up, each a little different; then they come again."""
_SPREAD_STEPS = 97
"""The same where they are very different."""
_PHASE_JITTER = 0.012
_STEP_JITTER = 0.006

_OF_A_STEP = ("data", "h2d", "forward", "sync", "backward", "comm", "optimizer", "other")

_Step = tuple[tuple[Stretch, ...], ...]
"""What each rank does in one step."""


class Pace(NamedTuple):
    """How long a rank takes for each phase, in seconds, if it need not wait, and what happens."""

    data: float = 0.03
    h2d: float = 0.06
    forward: float = 0.66
    backward: float = 1.25
    comm: float = 0.07
    optimizer: float = 0.20
    other: float = 0.02
    work: Work = TRAINING
    sync: float = 0.0
    """0: it never waits for its GPU."""
    pause: float = 0.0
    """At the beginning of the step the rank does something else for so long."""
    pause_phase: str = "other"


class Stage(NamedTuple):
    """From the first step after a moment on, every rank has another pace."""

    at_seconds: float
    """On the clock of `node.SimulatedNode.sample_at`."""
    paces: tuple[Pace, ...]
    """Of each rank."""
    turns: tuple[tuple[Pace, ...], ...] = ()
    """Other paces of each rank, which take turns with ``paces``: a step of these, then one of each."""
    spread: float = 0.0
    """Of the logarithm of the step times; beside the jitter that all have."""


def everyone(at_seconds: float, pace: Pace) -> Stage:
    """All ranks have the same pace from then on."""
    return Stage(at_seconds, (pace,) * RANKS)


def only(at_seconds: float, rank: int, pace: Pace, others: Pace | None = None) -> Stage:
    """One rank has this pace from then on, the others are healthy if not reported otherwise."""
    usual = others or Pace()
    return Stage(at_seconds, tuple(pace if each == rank else usual for each in range(RANKS)))


class StepPlan(NamedTuple):
    """One step of the job, as it was planned."""

    number: int
    """From 0 on, over all stages."""
    start: int
    """Microseconds, as the next one."""
    end: int
    ranks: tuple[tuple[Stretch, ...], ...]
    """What each rank does in it, one stretch after another."""


class Rhythm:
    """The steps of the job.

    Args:
        start_seconds: when the first step began.
        stages: how the pace changes, in the order of time.
        seed: of the jitter.
    """

    def __init__(self, start_seconds: float, stages: Sequence[Stage], seed: int) -> None:
        self._random = Random(seed)
        self._loops: list[_Steps] = []
        self.ranks: list[Timeline] = []
        self._begin(round(start_seconds * MICROSECONDS), everyone(start_seconds, Pace()))
        self.changes: tuple[float, ...] = tuple(self._change(stage) for stage in stages)
        """When the stages really began, in seconds."""

    def step(self, moment: int) -> tuple[int, float]:
        """Number of the step in progress and seconds that the one before it took."""
        for number in range(len(self._loops) - 1, 0, -1):
            if moment >= self._loops[number].start:
                steps = self._loops[number]
                return steps.step(moment, self._loops[number - 1].duration_before(steps.start))
        return self._loops[0].step(moment, 0.0)

    def plan(self, number: int) -> StepPlan:
        """The step of that number, whether it is over or not."""
        steps = next(
            (steps for steps in reversed(self._loops) if steps.first <= number), self._loops[0]
        )
        return steps.plan(number)

    def _begin(self, start: int, stage: Stage) -> None:
        steps = self._steps(stage)
        self._loops.append(_Steps(start, steps, 0))
        self.ranks = [Timeline(start, plan) for plan in _rank_by_rank(steps)]

    def _change(self, stage: Stage) -> float:
        last = self._loops[-1]
        start = last.next_start(round(stage.at_seconds * MICROSECONDS))
        steps = self._steps(stage)
        self._loops.append(_Steps(start, steps, last.step(start, 0.0)[0]))
        for rank, plan in zip(self.ranks, _rank_by_rank(steps), strict=True):
            rank.change(start, plan)
        return start / MICROSECONDS

    def _steps(self, stage: Stage) -> list[_Step]:
        rows = (stage.paces, *stage.turns)
        steps = max(len(rows), _STEPS if stage.spread == 0.0 else _SPREAD_STEPS)
        return [self._step(rows[number % len(rows)], stage.spread) for number in range(steps)]

    def _step(self, paces: Sequence[Pace], spread: float) -> _Step:
        common = self._random.gauss(1.0, _STEP_JITTER)
        if spread:
            common *= self._random.lognormvariate(0.0, spread)
        own = [self._phases(pace, common) for pace in paces]
        longest = max(sum(phases.values()) for phases in own)
        return tuple(
            _in_order(phases, longest - sum(phases.values()), pace.work)
            for phases, pace in zip(own, paces, strict=True)
        )

    def _phases(self, pace: Pace, common: float) -> dict[str, int]:
        """Microseconds of each phase this time."""

        def lasts(seconds: float) -> int:
            jitter = common * self._random.gauss(1.0, _PHASE_JITTER)
            return max(1, round(seconds * jitter * MICROSECONDS))

        phases = {pace.pause_phase: lasts(pace.pause)} if pace.pause else {}
        for phase in _OF_A_STEP:
            if phase != "sync" or pace.sync:
                phases[phase] = phases.get(phase, 0) + lasts(getattr(pace, phase))
        return phases


def _rank_by_rank(steps: Sequence[_Step]) -> list[list[Stretch]]:
    return [[stretch for step in steps for stretch in step[rank]] for rank in range(len(steps[0]))]


def _in_order(phases: dict[str, int], wait: int, work: Work) -> tuple[Stretch, ...]:
    stretches: list[Stretch] = []
    for phase, duration in phases.items():
        if phase == "comm" and wait > 0:
            stretches.append(Stretch(wait, phase, work[SPINNING]))
        stretches.append(Stretch(duration, phase, work[phase]))
    return tuple(stretches)


class _Steps:
    """The steps of one stage, with their numbers."""

    def __init__(self, start: int, steps: Sequence[_Step], first: int) -> None:
        self.start = start
        self.first = first
        self._steps = steps
        self._durations = [sum(stretch.duration for stretch in step[0]) for step in steps]
        self._period = sum(self._durations)

    def step(self, moment: int, before: float) -> tuple[int, float]:
        turns, place, _ = self._place(moment)
        number = turns * len(self._durations) + place
        last = self._durations[place - 1] / MICROSECONDS if number > 0 else before
        return self.first + number, last

    def plan(self, number: int) -> StepPlan:
        turns, place = divmod(max(0, number - self.first), len(self._steps))
        start = self.start + turns * self._period + sum(self._durations[:place])
        return StepPlan(number, start, start + self._durations[place], self._steps[place])

    def next_start(self, moment: int) -> int:
        """When the next step begins."""
        _, place, inside = self._place(moment)
        return moment if inside == 0 else moment + self._durations[place] - inside

    def duration_before(self, moment: int) -> float:
        """Seconds of the step that ends there."""
        _, place, _ = self._place(moment)
        return self._durations[place - 1] / MICROSECONDS

    def _place(self, moment: int) -> tuple[int, int, int]:
        turns, inside = divmod(max(0, moment - self.start), self._period)
        for place, duration in enumerate(self._durations):
            if inside < duration:
                return turns, place, inside
            inside -= duration
        raise AssertionError("a moment lies within one of the steps")
