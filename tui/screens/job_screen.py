"""Job: which rank, which phase?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from ...probes.frame import JobFrame
from ..jobs_shown import jobs_in_order
from ..view import Block, Target, View, rank_target
from .job_picture import draw_job, ranks_shown
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

    def __init__(self) -> None:
        super().__init__()
        self._job_id = ""

    def draw(self, view: View, width: int, height: int) -> Block:
        return draw_job(view, self._job(view), width, height)

    def targets(self, view: View) -> Sequence[Target]:
        job = self._job(view)
        return [rank_target(rank) for rank in ranks_shown(view, job)] if job else []

    def open(self, target: Target) -> None:
        self.gputop.open(target)

    def action_open(self) -> None:
        view = self.view()
        target = self.selected or (next(iter(self.targets(view)), None) if view else None)
        if target is not None:
            self.open(target)

    def action_other(self, step: int) -> None:
        view = self.view()
        job = self._job(view) if view else None
        if view is None or job is None:
            return
        ids = [each.id for each in jobs_in_order(view)]
        self._job_id = ids[(ids.index(job.id) + step) % len(ids)]
        self.selected = None
        self.redraw()

    def begin_anew(self) -> None:
        super().begin_anew()
        self._job_id = ""

    def _job(self, view: View) -> JobFrame | None:
        """The one chosen; the first where that is gone."""
        jobs = jobs_in_order(view)
        return next((job for job in jobs if job.id == self._job_id), next(iter(jobs), None))
