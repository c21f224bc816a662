"""The time of each step as a column, so that the odd ones stand out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...probes.derive.step_statistics import percentile, spread
from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame, RankFrame
from ..drawing import format
from ..drawing.bars import chart
from ..drawing.explanations import Term
from ..drawing.glyphs import DOT
from ..drawing.lines import Line, LineBuilder, heading, right

_SCALE = 8
"""Cells for the scale at the left."""
_LEAST_EXCESS = 0.1
_SPREADS = 6.0
"""A step is an outlier from the median plus a tenth on, or plus so many spreads if that is more."""
_HEADROOM = 1.25


TERMS = (
    Term(
        "Step time",
        "A column a step, the newest at the right; the scale at the left ends at the longest. Of a "
        "job, each "
        "step took as long as for its slowest rank. Probe page.",
    ),
    Term("p50", "Median of these steps; p99: one step in a hundred took longer."),
    Term(
        "odd",
        "Steps that took much longer than the median, in red: a tenth more, and more than the usual "
        "spread.",
    ),
    Term("slowest", "The longest of these steps, and its number."),
    Term("runs for", "The step in progress takes longer than usual already."),
)


class Steps(NamedTuple):
    """The steps of a job, or of one rank, oldest first."""

    numbers: list[int]
    seconds: list[float]
    running: tuple[int, float] | None
    """The step in progress and how long it has taken, where that is longer than usual."""

    @property
    def ordered(self) -> list[float]:
        """Seconds, the shortest first."""
        return sorted(self.seconds)


def steps_of(frame: Frame, ranks: Sequence[RankFrame]) -> Steps:
    """Of several ranks each step took as long as for the slowest of them."""
    slowest: dict[int, float] = {}
    for rank in ranks:
        past = frame.rank_history(rank.pid, rank.start_time_seconds)
        for step in past.steps if past else ():
            slowest[step.number] = max(step.seconds, slowest.get(step.number, 0.0))
    numbers = sorted(slowest)
    seconds = [slowest[number] for number in numbers]
    running = max(
        (
            (rank.step_age_seconds, rank.current_step)
            for rank in ranks
            if rank.ended_age_seconds is None
            and rank.step_age_seconds is not None
            and rank.current_step is not None
        ),
        default=None,
    )
    late = running is not None and seconds and running[0] > outlier_seconds(sorted(seconds))
    return Steps(numbers, seconds, (running[1], running[0]) if running and late else None)


def outlier_seconds(ordered: Sequence[float]) -> float:
    """From this duration on a step is odd. Median and spread take no notice of the odd ones."""
    middle = percentile(ordered, 0.5)
    return middle * (1.0 + max(_LEAST_EXCESS, _SPREADS * (spread(ordered) or 0.0)))


def step_chart_lines(steps: Steps, job: JobFrame, width: int, height: int) -> list[Line]:
    """A title and the columns, in ``height`` lines."""
    lines = [heading("Step time", width, _note(steps))]
    tall = height - 1
    if not steps.seconds:
        reported = any(rank.phase_source == "measured" for rank in job.ranks)
        why = "no step has ended yet" if reported else "no rank tells its steps"
        lines.append(LineBuilder(width).gap(2).add(why, "dim").line())
        return lines + [LineBuilder(width).line()] * (tall - 1)
    room = width - _SCALE - 2
    values = steps.seconds[-room:]
    if steps.running is not None:
        values = [*values, steps.running[1]][-room:]
    limit = outlier_seconds(steps.ordered)
    top = max(*values, _HEADROOM * percentile(steps.ordered, 0.5))
    rows = chart(values, len(values), tall, top)
    return lines + [
        _row(row, values, limit, _scale(at, tall, top), width) for at, row in enumerate(rows)
    ]


def _scale(at: int, tall: int, top: float) -> str:
    if at == 0:
        return format.duration(top)
    return "0 s" if at == tall - 1 else ""


def _row(row: str, values: Sequence[float], limit: float, scale: str, width: int) -> Line:
    line = LineBuilder(width).add(right(scale, _SCALE - 1), "dim").gap()
    at = 0
    while at < len(row):
        odd = values[at] >= limit
        upto = at
        while upto < len(row) and (values[upto] >= limit) == odd:
            upto += 1
        line.add(row[at:upto], "hot" if odd else "gauge")
        at = upto
    return line.line()


def _note(steps: Steps) -> str:
    if not steps.seconds:
        return ""
    ordered = steps.ordered
    slowest = max(range(len(steps.seconds)), key=lambda at: steps.seconds[at])
    odd = sum(seconds >= outlier_seconds(ordered) for seconds in steps.seconds)
    parts = [f"last {format.counted(len(steps.seconds), 'step')}"]
    if steps.running is not None:
        number, seconds = steps.running
        parts.append(f"step {format.grouped(number)} runs for {format.duration(seconds)}")
    parts.append(
        f"p50 {format.precise(percentile(ordered, 0.5))} p99 {format.precise(percentile(ordered, 0.99))}"
    )
    parts.append(
        f"slowest {format.precise(steps.seconds[slowest])}, step {format.grouped(steps.numbers[slowest])}"
    )
    parts.append(f"{odd} odd")
    return f" {DOT} ".join(parts)
