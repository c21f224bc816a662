"""What each phase of a step takes, over the ranks of a job: the usual time, and the rank that differs most."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from ...probes.derive.step_statistics import RECENT
from ...probes.model.job_frames import RankFrame
from ..drawing import format
from ..drawing.bars import gauge
from ..drawing.explanations import Term
from ..drawing.glyphs import DOT
from ..drawing.lines import Line, LineBuilder, heading, left, plain, right
from ..drawing.phase_marks import in_order, letter_of, role_of_phase
from ..drawing.rank_words import exact_name

_ODD_FACTOR = 1.5
_ODD_RATIO = 0.03
"""Of the step: a rank stands out that takes half as much again as usual, and at least so much longer."""


TERMS = (
    Term(
        "Phases of a step",
        f"Host time of each phase in a step, mean of the last {RECENT} steps: a bar against the whole "
        "step, the "
        "median over the ranks, then the least and the most of any rank. Probe page.",
    ),
    Term(
        "s a step",
        "The rank that takes longest in this phase, and how much that adds to each step: only where it "
        "stands out.",
    ),
)


def phase_lines(ranks: Sequence[RankFrame], width: int) -> list[Line]:
    """A title, and a line for each phase."""
    reported = [rank for rank in ranks if rank.phases_last_steps and rank.step_p50_seconds]
    names = in_order({name: 0.0 for rank in reported for name in rank.phases_last_steps})
    title = heading(
        "Phases of a step", width, f"host time, mean of {RECENT} steps {DOT} over all ranks"
    )
    return [title, *[_line(name, reported, width) for name in names]]


def _line(name: str, ranks: Sequence[RankFrame], width: int) -> Line:
    taken = [
        rank.phases_last_steps.get(name, 0.0) * (rank.step_p50_seconds or 0.0) for rank in ranks
    ]
    step = median(rank.step_p50_seconds or 0.0 for rank in ranks)
    usual, least, most = median(taken), min(taken), max(taken)
    line = LineBuilder(width).gap().add(f"{letter_of(name)} ", role_of_phase(name))
    line.add(left(plain(name), 11)).extend(
        gauge(usual / step if step else None, 24, role_of_phase(name))
    )
    line.add(right(format.precise(usual), 9), "strong")
    line.add(f"  {right(format.precise(least), 7)} to {right(format.precise(most), 7)}", "dim")
    excess = most - usual
    if most > _ODD_FACTOR * usual and excess > _ODD_RATIO * step:
        slowest = ranks[taken.index(most)]
        more = f"+{format.precise(excess)} a step"
        line.gap(2).add(f"{exact_name(slowest)} {format.precise(most)}, {more}", "warm")
    return line.line()
