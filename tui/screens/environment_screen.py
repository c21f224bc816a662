"""Environment of one process: shown to the one who asked, and kept no longer than it is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from ...probes.model.process_frames import ProcessFrame
from ..drawing import format
from ..drawing.explanations import Section, Term
from ..drawing.glyphs import DOT
from ..drawing.lines import Line, LineBuilder, blank, broken, heading, plain
from ..drawing.target import Block
from ..panels.process_table import command_of
from ..panels.top_line import top_line
from ..session.view import View
from .picture_screen import BACK, SCROLLING, PictureScreen


class EnvironmentScreen(PictureScreen):
    """All variables, by name.

    Args:
        process: whose they are.
        environment: as it was when the process started.
    """

    NAME = "environment"
    BINDINGS: ClassVar[list[BindingType]] = [
        BACK,
        *SCROLLING,
        Binding("pageup", "move(-10)", "ten up", show=False),
        Binding("pagedown", "move(10)", "ten down", show=False),
    ]
    WITHOUT = frozenset({"signal", "sort"})

    def __init__(self, process: ProcessFrame, environment: Mapping[str, str]) -> None:
        super().__init__()
        self._process = process
        self._environment = environment
        self._first = 0

    def draw(self, view: View, width: int, height: int) -> Block:
        found = [
            (plain(name), plain(value))
            for name, value in sorted(self._environment.items())
            if view.lets(name, value)
        ]
        lines = [line for name, value in found for line in _lines(name, value, width)]
        count = format.counted(len(found), "variable")
        note = f"{count} as it started {DOT} {command_of(self._process)}"
        title = heading(f"Environment of pid {self._process.pid}", width, note)
        room = height - 2
        self._first = max(0, min(self._first, len(lines) - room))
        shown = lines[self._first : self._first + room]
        return Block.of(
            [top_line(view, width), title, *shown, *[blank(width)] * (room - len(shown))]
        )

    def explained(self, view: View, width: int, height: int) -> Sequence[Section]:
        term = Term(
            "NAME=value",
            "A variable as it was when the process started; what it has set since is not seen. "
            "/proc/PID/environ. "
            "Shown to you alone, and kept nowhere.",
        )
        return [Section("Environment", [term])]

    def action_move(self, steps: int) -> None:
        self._first = max(0, self._first + steps)
        self.redraw()


def _lines(name: str, value: str, width: int) -> list[Line]:
    """The whole value: the end of a path is what one looks for."""
    first, *others = broken(f"{name}={value}", width - 2)
    line = LineBuilder(width).gap()
    if first.startswith(f"{name}="):
        line.add(name, "strong").add("=", "dim").add(first[len(name) + 1 :])
    else:
        line.add(first, "strong")
    return [line.line(), *(LineBuilder(width).gap(2).add(each).line() for each in others)]
