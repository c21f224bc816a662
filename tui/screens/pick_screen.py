"""Jobs of this node: which one?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from ...probes.model.job_frames import JobFrame
from ..drawing import format
from ..drawing.columns import chosen_line
from ..drawing.explanations import Section, Term
from ..drawing.glyphs import DOT
from ..drawing.job_words import command_words, job_words, pid_of
from ..drawing.lines import LineBuilder, blank, heading
from ..drawing.target import Block, Target
from ..panels.top_line import top_line
from ..session.view import View, window
from .picture_screen import BACK, PictureScreen

_LINES_EACH = 2


class PickScreen(PictureScreen):
    """The jobs as they were found, one of which is to be watched.

    Args:
        jobs: to choose from.
    """

    NAME = "pick"
    BINDINGS: ClassVar[list[BindingType]] = [
        BACK,
        Binding("enter,l,right", "pick", "watch this job"),
    ]
    WITHOUT = frozenset({"signal", "sort", "filter"})

    def __init__(self, jobs: Sequence[JobFrame]) -> None:
        super().__init__()
        self._jobs = {Target("job", job.id): job for job in jobs}
        self.selected = next(iter(self._jobs), None)

    def draw(self, view: View, width: int, height: int) -> Block:
        note = f"{format.counted(len(self._jobs), 'job')} {DOT} Enter watches one"
        block = Block.of([top_line(view, width), heading("Jobs of this node", width, note)])
        if not self._jobs:
            said = LineBuilder(width).gap(2).add("no training job was found", "dim").line()
            block = block + Block.of([said])
        targets = list(self._jobs)
        rows = max(1, (height - 2) // _LINES_EACH)
        chosen = view.selected
        place = targets.index(chosen) if chosen is not None and chosen in targets else None
        first = window(len(targets), rows, place)
        for target in targets[first : first + rows]:
            block = block + self._row(target, target == view.selected, width)
        lines, marks = block.lines[:height], block.targets[:height]
        return Block(lines, marks) + Block.of([blank(width)] * (height - len(lines)))

    def targets(self, view: View) -> Sequence[Target]:
        return list(self._jobs)

    def open(self, target: Target) -> None:
        self.action_pick()

    def action_pick(self) -> None:
        job = self._jobs.get(self.selected) if self.selected else None
        if job is None:
            self.tell("select a job first")
            return
        self.gputop.leave()
        self.gputop.attach(pid_of(job))

    def explained(self, view: View, width: int, height: int) -> Sequence[Section]:
        term = Term(
            "a job",
            "The pid that started it, its name, ranks, user and where it runs; below, its command. /proc.",
        )
        return [Section("Jobs", [term])]

    def action_move(self, steps: int) -> None:
        view = self.view()
        if view is not None and self._jobs:
            super().action_move(steps)

    def action_leave(self) -> None:
        self.gputop.leave()

    def _row(self, target: Target, chosen: bool, width: int) -> Block:
        job = self._jobs[target]
        words = f" {DOT} ".join(job_words(job))
        line = LineBuilder(width).gap().add(f"{pid_of(job):>8}", "strong").gap(2).add(words).line()
        command = LineBuilder(width).gap(11).add(command_words(job), "dim").line()
        lines = [chosen_line(line, chosen), command]
        return Block.of(lines, [target, target])
