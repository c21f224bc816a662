"""Steps and phases of one rank as spans. What was between two readings and in neither is not made up."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from ....probes.model.probe_readings import ProbeReading, SegmentReading, StepReading
from .writer import Argument

_NANOSECONDS = 1_000_000_000


class Span(NamedTuple):
    """Nanoseconds of the monotonic clock."""

    name: str
    start: int
    end: int
    arguments: dict[str, Argument]


class RankSpans:
    """Strings the readings of one process together: each tells the newest, and most of them twice."""

    def __init__(self) -> None:
        self._open: SegmentReading | None = None
        """The newest phase: it lasts until another one begins."""
        self._until = 0.0
        """When it was last seen to be in progress."""
        self._steps: dict[int, StepReading] = {}
        """Those that may still change: what the GPU took is known later."""
        self._last_step = -1

    def phases(self, probe: ProbeReading) -> Iterator[Span]:
        """Those that are known to have ended."""
        segments = probe.segments
        if not segments:
            return
        known = self._open
        at = next(
            (
                number
                for number, each in enumerate(segments)
                if known is not None and each.monotonic_seconds == known.monotonic_seconds
            ),
            None,
        )
        if at is None:
            yield from self._left_open()
        for phase, following in zip(segments[at or 0 :], segments[(at or 0) + 1 :], strict=False):
            if following.step - phase.step <= 1:
                yield _phase(phase, following.monotonic_seconds)
        self._open = segments[-1]
        self._until = (
            probe.monotonic_seconds
            if probe.phase_monotonic_seconds == self._open.monotonic_seconds
            else self._open.monotonic_seconds
        )

    def steps(self, probe: ProbeReading) -> Iterator[Span]:
        """Those about which nothing changes any more."""
        if probe.step is not None and probe.step < self._last_step:
            yield from self._settled(frozenset())
            self._last_step = -1  # its counters began anew
        told = {step.number for step in probe.steps}
        self._steps.update(
            (step.number, step) for step in probe.steps if step.number > self._last_step
        )
        yield from self._settled(told)

    def rest_of_phases(self) -> Iterator[Span]:
        """What was in progress when the last reading came."""
        yield from self._left_open()

    def rest_of_steps(self) -> Iterator[Span]:
        """What might still have changed."""
        yield from self._settled(frozenset())

    def _left_open(self) -> Iterator[Span]:
        """The newest phase, as long as it was seen."""
        if self._open is not None and self._until > self._open.monotonic_seconds:
            yield _phase(self._open, self._until)
        self._open = None

    def _settled(self, told: AbstractSet[int]) -> Iterator[Span]:
        for number in sorted(self._steps.keys() - told):
            step = self._steps.pop(number)
            end = round(step.monotonic_seconds * _NANOSECONDS)
            start = end - round(step.seconds * _NANOSECONDS)
            self._last_step = number
            yield Span(f"step {number}", start, end, _about(step))


def _phase(segment: SegmentReading, end_seconds: float) -> Span:
    start = round(segment.monotonic_seconds * _NANOSECONDS)
    end = round(end_seconds * _NANOSECONDS)
    return Span(segment.phase, start, end, {"step": segment.step})


def _about(step: StepReading) -> dict[str, Argument]:
    """What else is known of it, with the unit in the name."""
    values: dict[str, Argument | None] = {
        "run_ahead_seconds": step.run_ahead_seconds,
        "samples": step.samples,
        "tokens": step.tokens,
        "loss": step.loss,
        "micro_steps": step.micro_steps if step.micro_steps > 1 else None,
        "skipped": "the optimizer did not change the weights" if step.skipped else None,
        **{f"{phase}_gpu_seconds": seconds for phase, seconds in step.gpu_phases.items()},
    }
    return {name: value for name, value in values.items() if value is not None}
