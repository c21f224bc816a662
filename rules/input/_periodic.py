"""Waits for data that come back every so many steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, gcd
from statistics import median

import msgspec

from ...probes.model.probe_readings import StepReading

_WARM_STEPS = 12
"""The first batches are waited for by everybody."""
_LEAST_PERIODS = 5
_SEEN_RATIO = 0.8
"""Of very short steps the probe tells the newest and the longest alone: that is no series."""
_COMES_BACK_RATIO = 0.75
_MOST_RATIO = 0.34
"""More stalls than that are no single batches that come late."""
_FLOOR_RATIO = 0.01
"""Of a step: so much is no stall, however short the other waits are."""
_SIDE_RATIO = 0.2
"""Of a stall: other work at the same steps that takes so much longer may be what brings it about."""
_SIDE_PHASES = frozenset({"data", "h2d", "forward", "backward", "comm", "optimizer"})
"""What every step has; all else comes now and then: saving, evaluating, logging, phases of the job's own."""


class Stalls(msgspec.Struct, frozen=True):
    """Waits of one rank that are far longer than its usual one, one of every ``period`` steps."""

    period: int
    usual_seconds: float
    p99_seconds: float
    lost_ratio: float
    """Of the time: what they take longer than the usual ones."""
    with_other_work: bool
    """Something else comes at the same steps too."""


def period_of(num_workers: int, steps: Sequence[StepReading]) -> int:
    """After so many steps the same worker's batch is drawn by a step anew."""
    drawn = round(median([step.micro_steps for step in steps])) if steps else 1
    return num_workers // gcd(num_workers, max(1, drawn))


def periodic_stalls(
    steps: Sequence[StepReading], num_workers: int, times: float, now: float, seconds: float
) -> Stalls | None:
    """The stalls at that period; ``None`` where there are none, or not at that period.

    Args:
        steps: of one rank, oldest first.
        num_workers: of its loader, which serve in turn.
        times: the usual wait, from which on a wait is a stall.
        now: the moment, on the clock of the steps.
        seconds: how far back it looks.
    """
    recent = [
        step
        for step in steps
        if step.number > _WARM_STEPS and now - step.monotonic_seconds <= seconds and step.phases
    ]
    period = period_of(num_workers, recent)
    if period < 2 or len(recent) < _LEAST_PERIODS * period:
        return None
    first, last = recent[0].number, recent[-1].number
    if len(recent) < _SEEN_RATIO * (last - first + 1):
        return None
    waits = {step.number: step.phases.get("data", 0.0) for step in recent}
    ordered = sorted(waits.values())
    usual = median(ordered)
    floor = _FLOOR_RATIO * median([step.seconds for step in recent])
    limit = times * max(usual, floor)
    stalls = {number for number, wait in waits.items() if wait > limit}
    p99 = ordered[ceil(0.99 * len(ordered)) - 1]
    if p99 <= limit or not _come_back(stalls, waits, period):
        return None
    lost = sum(waits[number] - usual for number in stalls)
    return Stalls(
        period=period,
        usual_seconds=usual,
        p99_seconds=p99,
        lost_ratio=lost / sum(step.seconds for step in recent),
        with_other_work=_with_other_work(recent, stalls, lost / len(stalls)),
    )


def _come_back(stalls: set[int], waits: Mapping[int, float], period: int) -> bool:
    """A stall is followed by one a period later, and by none a part of it later, and goes on to now."""
    newest = max(waits)
    if not stalls or len(stalls) > _MOST_RATIO * len(waits) or newest - max(stalls) > 2 * period:
        return False
    shorter = [part for part in range(1, period) if period % part == 0]
    return _share(stalls, waits, period) >= _COMES_BACK_RATIO and all(
        _share(stalls, waits, part) < _COMES_BACK_RATIO for part in shorter
    )


def _share(stalls: set[int], waits: Mapping[int, float], lag: int) -> float:
    """How many stalls have one that many steps later, of those of which that step is known."""
    known = [number for number in stalls if number + lag in waits]
    if len(known) < _LEAST_PERIODS - 1:
        return 0.0
    return sum(number + lag in stalls for number in known) / len(known)


def _with_other_work(steps: Sequence[StepReading], stalls: set[int], stall_seconds: float) -> bool:
    """In the stalled step or in the one before it, which may have delayed the workers."""
    near, else_ = [0.0], [0.0]
    before = 0.0
    for step in steps:
        side = sum(spent for phase, spent in step.phases.items() if phase not in _SIDE_PHASES)
        (near if step.number in stalls else else_).append(max(side, before))
        before = side
    return median(near[1:]) - median(else_) >= _SIDE_RATIO * stall_seconds
