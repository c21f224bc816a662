"""The host: what have CPUs, memory, disks and networks been doing?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from ..drawing.explanations import Section, fact_terms
from ..drawing.lines import LineBuilder, blank, heading, text_of
from ..drawing.target import Block
from ..panels.host_fact_terms import HOST_FACT_TERMS
from ..panels.host_facts import host_fact_lines
from ..panels.top_line import top_line
from ..session.view import View
from .picture_screen import BACK, SCROLLING, PictureScreen


class HostScreen(PictureScreen):
    """All that is read of the node without its GPUs."""

    NAME = "host"
    BINDINGS: ClassVar[list[BindingType]] = [BACK, *SCROLLING]
    WITHOUT = frozenset({"signal", "sort", "filter"})

    def __init__(self) -> None:
        super().__init__()
        self._first = 0

    def draw(self, view: View, width: int, height: int) -> Block:
        body = [
            LineBuilder(width).gap().extend(line).line()
            for line in host_fact_lines(view.frame, width - 2)
        ]
        room = height - 2
        self._first = max(0, min(self._first, len(body) - room))
        shown = body[self._first : self._first + room]
        note = f"lines {self._first + 1} to {self._first + len(shown)} of {len(body)}"
        title = heading("Host", width, note if len(shown) < len(body) else "")
        empty = [blank(width)] * (room - len(shown))
        return Block.of([top_line(view, width), title, *shown, *empty])

    def explained(self, view: View, width: int, height: int) -> Sequence[Section]:
        facts = "\n".join(text_of(line) for line in host_fact_lines(view.frame, width - 2))
        return [Section("Facts", fact_terms(HOST_FACT_TERMS, facts))]

    def action_move(self, steps: int) -> None:
        self._first = max(0, self._first + steps)
        self.redraw()
