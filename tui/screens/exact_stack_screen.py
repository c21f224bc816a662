"""The whole stack of one process, as of the moment for which it was stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from ...probes.model.process_frames import ProcessFrame
from ...probes.model.rank_readings import StackReading
from ..drawing import format
from ..drawing.explanations import Section, drawn_terms
from ..drawing.glyphs import DOT
from ..drawing.lines import Line, blank, heading
from ..drawing.target import Block
from ..panels.process_table import command_of
from ..panels.rank_stack import TERMS, reading_lines
from ..panels.top_line import top_line
from ..session.view import View
from .picture_screen import BACK, SCROLLING, PictureScreen


class ExactStackScreen(PictureScreen):
    """All threads, innermost frame first.

    Args:
        process: whose they are.
        reading: the one dump.
    """

    NAME = "exact-stack"
    BINDINGS: ClassVar[list[BindingType]] = [
        BACK,
        *SCROLLING,
        Binding("pageup", "move(-10)", "ten up", show=False),
        Binding("pagedown", "move(10)", "ten down", show=False),
    ]
    WITHOUT = frozenset({"signal", "sort", "filter"})

    def __init__(self, process: ProcessFrame, reading: StackReading) -> None:
        super().__init__()
        self._process = process
        self._reading = reading
        self._first = 0

    def draw(self, view: View, width: int, height: int) -> Block:
        lines = reading_lines(self._reading, width)
        room = height - 2
        self._first = max(0, min(self._first, len(lines) - room))
        shown = lines[self._first : self._first + room]
        return Block.of(
            [top_line(view, width), self._title(view, width), *shown]
            + [blank(width)] * (room - len(shown))
        )

    def explained(self, view: View, width: int, height: int) -> Sequence[Section]:
        return [Section("Stack", drawn_terms(TERMS, self.draw(view, width, height).text))]

    def action_move(self, steps: int) -> None:
        self._first = max(0, self._first + steps)
        self.redraw()

    def _title(self, view: View, width: int) -> Line:
        age = view.frame.monotonic_seconds - self._reading.monotonic_seconds
        notes = (
            command_of(self._process),
            f"{format.duration(max(0.0, age))} old",
            f"py-spy took {format.duration(self._reading.duration_seconds)}",
        )
        return heading(f"Exact stack of pid {self._process.pid}", width, f" {DOT} ".join(notes))
