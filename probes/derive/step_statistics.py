"""Figures over the recent steps of one rank."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from ..model.probe_readings import StepReading
from ..model.step_statistics import NO_FIGURES, StepFigures

RECENT = 16
"""Steps over which shares, rates and GPU time are reported; percentiles are over all that are kept."""
_SPREAD_NEEDS = 4


def figures_of(steps: Sequence[StepReading]) -> StepFigures:
    """The figures of steps, oldest first."""
    if not steps:
        return NO_FIGURES
    recent = steps[-RECENT:]
    durations = sorted([step.seconds for step in steps])
    timed = [step for step in recent if step.gpu_phases]
    ahead = sorted(
        [step.run_ahead_seconds for step in recent if step.run_ahead_seconds is not None]
    )
    counted = [step for step in recent if step.samples is not None or step.tokens is not None]
    return StepFigures(
        p50_seconds=percentile(durations, 0.5),
        p99_seconds=percentile(durations, 0.99),
        spread_ratio=spread(durations),
        phases=_shares(recent),
        host_seconds=_mean([step.seconds for step in timed]),
        gpu_seconds=_mean([sum(step.gpu_phases.values()) for step in timed]),
        run_ahead_seconds=percentile(ahead, 0.5) if ahead else None,
        seconds=sum(step.seconds for step in counted),
        samples=_sum([step.samples for step in counted]),
        tokens=_sum([step.tokens for step in counted]),
        longest_seconds=max(step.seconds for step in recent),
        throughput_spread_ratio=spread(_rates(counted)),
        loss=next((step.loss for step in reversed(recent) if step.loss is not None), None),
    )


def percentile(ordered: Sequence[float], share: float) -> float:
    """The nearest-rank percentile: the smallest value with that share of all at or below it."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def spread(ordered: Sequence[float]) -> float | None:
    """How far apart values usually are, whatever outliers there are; of few it cannot be reported."""
    if len(ordered) < _SPREAD_NEEDS:
        return None
    middle = percentile(ordered, 0.5)
    if middle <= 0:
        return None
    return (percentile(ordered, 0.9) - percentile(ordered, 0.1)) / 2.0 / middle


def _rates(steps: Sequence[StepReading]) -> list[float]:
    """Tokens a second of each step; samples where it does not tell tokens."""
    counts = [
        (step.samples if step.tokens is None else step.tokens, step.seconds) for step in steps
    ]
    return sorted(
        [count / seconds for count, seconds in counts if count is not None and seconds > 0]
    )


def _shares(steps: Sequence[StepReading]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for step in steps:
        for phase, seconds in step.phases.items():
            sums[phase] = sums[phase] + seconds if phase in sums else seconds
    whole = sum(sums.values())
    return {phase: seconds / whole for phase, seconds in sums.items()} if whole > 0 else {}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _sum(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) if present else None
