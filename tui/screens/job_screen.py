"""Job: which rank, which phase?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from ..drawing.explanations import Section
from ..drawing.target import Block, Target, rank_target
from ..panels.job import draw_job, explained_job, ranks_shown
from ..session.view import View
from .picture_screen import PictureScreen


class JobScreen(PictureScreen):
    """The ranks of one job, its step times, and its last steps across ranks."""

    NAME = "job"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "rank"),
        Binding("l,right", "other(1)", "next job", show=False),
        Binding("h,left", "other(-1)", "previous job", show=False),
    ]
    WITHOUT = frozenset({"signal", "sort"})

    def draw(self, view: View, width: int, height: int) -> Block:
        return draw_job(view, self.gputop.shown_job.of(view), width, height)

    def explained(self, view: View, width: int, height: int) -> Sequence[Section]:
        return explained_job(view, self.gputop.shown_job.of(view), width, height)

    def targets(self, view: View) -> Sequence[Target]:
        job = self.gputop.shown_job.of(view)
        return [rank_target(rank) for rank in ranks_shown(view, job)] if job else []

    def open(self, target: Target) -> None:
        self.gputop.open(target)

    def action_open(self) -> None:
        target = self.selected or self.first_in_sight
        if target is not None:
            self.open(target)

    def action_other(self, step: int) -> None:
        view = self.view()
        if view is not None and self.gputop.shown_job.move(view, step):
            self.selected = None
            self.redraw()
