"""What a frame remembers of each rank, so that the next one can look back: bounded, and never printed.

The probe's page holds the newest steps and phases only, and a reading those since the one before; here they
are strung together. What cannot be joined without a gap is forgotten rather than guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..model.probe_readings import ProbeReading, SegmentReading, StepReading
from ..model.rank_history import PhaseMark, RankHistory
from .step_statistics import figures_of

STEPS = 256
SEGMENTS = 320
MINUTE_SECONDS = 60.0
_MARK_SECONDS = 1.0


def append_reading(past: RankHistory | None, probe: ProbeReading) -> RankHistory:
    """The past with a reading added; the same object where the reading is one that it has already."""
    if past is not None and past.reading_seconds == probe.monotonic_seconds:
        return past
    if past is not None and _began_anew(past, probe):
        past = None
    steps = _joined_steps(past.steps if past else (), probe.steps)
    unchanged = past is not None and steps is past.steps
    return RankHistory(
        pid=probe.pid,
        start_time_seconds=probe.start_time_seconds,
        reading_seconds=probe.monotonic_seconds,
        steps=steps,
        segments=_joined_segments(past.segments if past else (), probe.segments),
        marks=_joined_marks(past.marks if past else (), probe),
        figures=past.figures if past is not None and unchanged else figures_of(steps),
    )


def minute_phases(past: RankHistory, probe: ProbeReading) -> tuple[dict[str, float], float]:
    """Share of each phase in the last minute, and how many seconds of it were seen."""
    now = probe.monotonic_seconds
    base = _at(past.marks, now - MINUTE_SECONDS)
    seconds = max(0.0, now - base.monotonic_seconds)
    return shares_of(probe.phase_seconds, base.phase_seconds), seconds


def shares_of(now: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    """Growth of each counter as a share of the growth of all; empty where one went backwards."""
    grown = {phase: seconds - before.get(phase, 0.0) for phase, seconds in now.items()}
    if any(seconds < 0 for seconds in grown.values()):
        return {}
    whole = sum(grown.values())
    return {phase: seconds / whole for phase, seconds in grown.items()} if whole > 0 else {}


def _began_anew(past: RankHistory, probe: ProbeReading) -> bool:
    """The probe was started again in the same process: its counters begin at zero."""
    last = past.steps[-1].number if past.steps else 0
    known = past.marks[-1].phase_seconds if past.marks else {}
    return (probe.step is not None and probe.step < last) or any(
        probe.phase_seconds.get(phase, 0.0) < seconds for phase, seconds in known.items()
    )


def _joined_steps(
    known: tuple[StepReading, ...], new: Sequence[StepReading]
) -> tuple[StepReading, ...]:
    if not new:
        return known
    at = len(known)
    while at and known[at - 1].number >= new[0].number:
        at -= 1
    if known[at:] == tuple(new):
        return known
    reported = {step.number: step for step in known[at:]} | {step.number: step for step in new}
    return (*known[:at], *[reported[number] for number in sorted(reported)])[-STEPS:]


def _joined_segments(
    known: tuple[SegmentReading, ...], new: Sequence[SegmentReading]
) -> tuple[SegmentReading, ...]:
    if not new:
        return known
    if not known:
        return tuple(new)
    if known[-1] == new[-1]:
        return known
    for at in range(len(new) - 1, -1, -1):
        if new[at].monotonic_seconds <= known[-1].monotonic_seconds:
            return (*known[:-1], *new[at:])[-SEGMENTS:] if new[at] == known[-1] else tuple(new)
    return tuple(new)


def _joined_marks(known: tuple[PhaseMark, ...], probe: ProbeReading) -> tuple[PhaseMark, ...]:
    now = probe.monotonic_seconds
    if not known:
        return _of_the_minute(_first_marks(probe))
    if now - known[-1].monotonic_seconds < _MARK_SECONDS:
        return known
    return _of_the_minute((*known, PhaseMark(now, probe.phase_seconds)))


def _of_the_minute(marks: tuple[PhaseMark, ...]) -> tuple[PhaseMark, ...]:
    """Those of the last minute, and the one before them."""
    start = marks[-1].monotonic_seconds - MINUTE_SECONDS
    old = 0
    while old + 1 < len(marks) and marks[old + 1].monotonic_seconds <= start:
        old += 1
    return marks[old:]


def _at(marks: Sequence[PhaseMark], moment: float) -> PhaseMark:
    """Where the counters stood then, if that is between the first two marks; else the first."""
    first = marks[0]
    if len(marks) < 2 or moment <= first.monotonic_seconds:
        return first
    after = marks[1]
    passed = moment - first.monotonic_seconds
    share = min(1.0, passed / (after.monotonic_seconds - first.monotonic_seconds))
    return PhaseMark(
        moment,
        {
            phase: (before := first.phase_seconds.get(phase, 0.0)) + share * (seconds - before)
            for phase, seconds in after.phase_seconds.items()
        },
    )


def _first_marks(probe: ProbeReading) -> tuple[PhaseMark, ...]:
    """Where the counters stood at the beginnings of the phases that the page still has."""
    counters, end = probe.phase_seconds, probe.monotonic_seconds
    marks = [PhaseMark(end, counters)]
    for segment in reversed(probe.segments):
        spent = max(0.0, end - segment.monotonic_seconds)
        before = max(0.0, counters.get(segment.phase, 0.0) - spent)
        counters = {**counters, segment.phase: before}
        end = min(end, segment.monotonic_seconds)
        if spent > 0 and marks[-1].monotonic_seconds - end >= _MARK_SECONDS:
            marks.append(PhaseMark(end, counters))
    if end < marks[-1].monotonic_seconds:
        marks.append(PhaseMark(end, counters))
    return tuple(reversed(marks))
