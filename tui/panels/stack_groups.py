"""Groups of ranks as rows: who they are, what they do, and where in the code."""

from __future__ import annotations

from collections.abc import Sequence

from ...probes.derive.stack_groups import StackGroup
from ..drawing.explanations import Term
from ..drawing.glyphs import MORE_ABOVE, MORE_BELOW, SELECTED
from ..drawing.lines import Line, LineBuilder, left, plain
from ..drawing.phase_marks import role_of_phase
from ..drawing.rank_words import ORIGINS, STOPPED, who
from ..session.view import window

_WHO_MOST = 26
_PHASE_WIDTH = 10
_DOING_FIRST_FROM = 90
"""Columns; where there are fewer, the place in the code must not be what is cut."""


TERMS = (
    Term(
        "groups",
        "Ranks whose main threads are in the same stack, the smallest group first: who, its phase, what it "
        "does within it, and the innermost function of your own code.",
    ),
    Term("by the probe", "Measured: the probe in the process has written down each phase."),
    Term("by the stacks", "Sampled: from py-spy's dumps of this process, a few per refresh."),
    Term(
        "nonblocking",
        "py-spy reads the stacks without stopping the process: a dump that the process ran through is inconsistent, and left out.",
    ),
    Term("by the threads", "Inferred: from state, wait channel and CPU of its threads in /proc."),
)


def group_lines(
    groups: Sequence[StackGroup], chosen: StackGroup | None, width: int, rows: int
) -> tuple[list[Line], Sequence[StackGroup]]:
    """As many as fit, with the chosen one in sight; and which those are."""
    at = next((at for at, group in enumerate(groups) if group is chosen), None)
    first = window(len(groups), rows, at)
    shown = groups[first : first + rows]
    names = min(_WHO_MOST, max((len(_who(group)) for group in groups), default=0), width // 3)
    largest = max((len(group.pids) for group in groups), default=0)
    lines = [
        _line(
            group,
            width,
            names,
            chosen=group is chosen,
            odd=group.stopped or len(group.pids) < largest,
        )
        for group in shown
    ]
    above, below = first, len(groups) - first - len(shown)
    if lines and above:
        lines[0] = _with_count(lines[0], width, f"{MORE_ABOVE}{above}")
    if lines and below:
        lines[-1] = _with_count(lines[-1], width, f"{MORE_BELOW}{below}")
    return lines, shown


def _line(group: StackGroup, width: int, names: int, *, chosen: bool, odd: bool) -> Line:
    line = LineBuilder(width).add(SELECTED if chosen else " ", "key")
    line.add(left(_who(group), names), "mark" if chosen else "strong" if odd else "text").gap(2)
    line.add(f"{STOPPED}  " if group.stopped else "", "error")
    if group.phase is None:
        return line.add("not known what it does", "dim").line()
    line.add(left(plain(group.phase), _PHASE_WIDTH), role_of_phase(group.phase)).gap()
    doing, place = plain(group.doing or ""), plain(group.place or "")
    role = "strong" if odd else "text"
    if width < _DOING_FIRST_FROM and place:
        line.add(place, role).add(f"  {doing}", "dim")
    else:
        line.add(doing).add(" at " if doing and place else "", "dim").add(place, role)
    origin = f"  reported by the {ORIGINS.get(group.phase_source or '', '?')}"
    return line.add(origin if len(origin) <= line.room else "", "dim").line()


def _who(group: StackGroup) -> str:
    return who(group.ranks, group.pids)


def _with_count(line: Line, width: int, count: str) -> Line:
    text = f" {count} "
    kept = LineBuilder(width - len(text)).extend(line).line()
    return (*kept, (text, "dim"))
