"""One rank: what is known of it, and how its steps go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType

from ...probes.model.job_frames import JobFrame, RankFrame
from ..drawing.explanations import Section, drawn_terms, fact_terms, panel_text
from ..drawing.lines import Line, LineBuilder, blank, plain, text_of
from ..drawing.rank_words import exact_name
from ..drawing.target import Block, Target, rank_target
from ..panels.rank_fact_terms import RANK_FACT_TERMS
from ..panels.rank_facts import rank_fact_lines
from ..panels.rank_table import state_text
from ..panels.step_chart import TERMS as STEP_TERMS
from ..panels.step_chart import step_chart_lines, steps_of
from ..panels.top_line import top_line
from ..session.view import View
from .picture_screen import SCROLLING, PictureScreen

_COLUMNS_FROM = 132
_CHART_FROM = 20
"""Lines of height from which there is a chart."""


class _Place(NamedTuple):
    job: JobFrame
    rank: RankFrame


class RankScreen(PictureScreen):
    """Phase, steps, collectives, memory, loader, probe and versions of one rank.

    Args:
        target: stands for the rank.
    """

    NAME = "rank"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("h,left", "other(-1)", "previous rank"),
        Binding("l,right", "other(1)", "next rank"),
        *SCROLLING,
    ]
    WITHOUT = frozenset({"signal", "sort", "filter"})

    def __init__(self, target: Target) -> None:
        super().__init__()
        self._target = target
        self._first = 0

    def draw(self, view: View, width: int, height: int) -> Block:
        place = _place(view, self._target)
        lines = [top_line(view, width)]
        if place is None:
            gone = LineBuilder(width).gap(2).add("this rank is not there any more", "dim").line()
            return Block.of([*lines, gone, *[blank(width)] * (height - 2)])
        lines.append(_title(place, width))
        if height >= _CHART_FROM and place.rank.phase is not None:
            steps = steps_of(view.frame, [place.rank])
            lines += step_chart_lines(steps, place.job, width, max(4, height // 6))
        room = height - len(lines)
        body = _body(view, place, width, room)
        self._first = max(0, min(self._first, len(body) - room))
        shown = body[self._first : self._first + room]
        return Block.of([*lines, *shown, *[blank(width)] * (room - len(shown))])

    def explained(self, view: View, width: int, height: int) -> Sequence[Section]:
        place = _place(view, self._target)
        if place is None:
            return ()
        panel = panel_text(self.draw(view, width, height).text, "Step time")
        chart = drawn_terms(STEP_TERMS, panel)
        facts = rank_fact_lines(view.frame, place.job, place.rank, width)
        terms = fact_terms(RANK_FACT_TERMS, "\n".join(map(text_of, facts)))
        return [*[Section("Step time", chart)] * bool(chart), Section("Facts", terms)]

    def action_move(self, steps: int) -> None:
        self._first = max(0, self._first + steps)
        self.redraw()

    def action_other(self, step: int) -> None:
        view = self.view()
        place = _place(view, self._target) if view else None
        if place is None:
            return
        targets = [rank_target(rank) for rank in place.job.ranks]
        self._target = targets[(targets.index(self._target) + step) % len(targets)]
        self._first = 0
        self.redraw()


def _place(view: View, target: Target) -> _Place | None:
    return next(
        (
            _Place(job, rank)
            for job in view.frame.jobs
            for rank in job.ranks
            if rank_target(rank) == target
        ),
        None,
    )


def _title(place: _Place, width: int) -> Line:
    rank = place.rank
    line = LineBuilder(width).add(f" {exact_name(rank)}", "brand")
    line.add(f"  of {plain(place.job.name)}", "strong")
    text, role = state_text(rank)
    return line.add(f"  {text}" if text else "", role).line()


def _body(view: View, place: _Place, width: int, room: int) -> list[Line]:
    """Facts in two columns where there is room for them."""
    if width < _COLUMNS_FROM:
        facts = rank_fact_lines(view.frame, place.job, place.rank, width - 2)
        return [LineBuilder(width).gap().extend(line).line() for line in facts]
    each = (width - 4) // 2
    facts = rank_fact_lines(view.frame, place.job, place.rank, each)
    half = _half(facts, room)
    first, second = facts[:half], facts[half:]
    return [
        LineBuilder(width)
        .gap()
        .extend(first[at] if at < len(first) else ())
        .until(each + 3)
        .extend(second[at] if at < len(second) else ())
        .line()
        for at in range(max(len(first), len(second)))
    ]


def _half(facts: list[Line], room: int) -> int:
    """Where the second column begins: after a group that ends about the middle, or fills the room."""
    ends = [at + 1 for at, line in enumerate(facts) if len(line) == 1 and not line[0][0].strip()]
    fitting = [end for end in ends if end <= room]
    middle = len(facts) / 2
    if len(facts) <= room * 2 and fitting:
        return min(fitting, key=lambda end: abs(end - middle))
    return min(ends, key=lambda end: abs(end - middle), default=len(facts))
