"""Help: the keys of the screen it was called from, as bound, and what the marks mean."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from ..drawing.glyphs import BLOCK, CLEARED, DASH, DOT, ERROR, INFO, SLOWED, WARNING
from ..drawing.lines import Line, LineBuilder, blank, heading, left
from ..drawing.target import Block
from ..panels.ledger import LETTERS
from ..panels.top_line import top_line
from ..session.view import View
from ..widgets.keys import Keys, all_keys
from .picture_screen import BACK, SCROLLING, PictureScreen

_MARKS: tuple[tuple[str, str, str], ...] = (
    (ERROR, "error", "error: the job is hurt or will be"),
    (WARNING, "warning", "warning: time or money is lost"),
    (INFO, "info", "worth knowing"),
    (f"{WARNING} 2", "warning", "two causes; symptoms are not counted, and"),
    ("", "dim", "the same on several GPUs is one (all: key 6)"),
    (CLEARED, "good", "gone, or nothing found"),
    (f"{SLOWED}T", "hot", "clocks held down by heat"),
    (f"{SLOWED}H", "hot", "by the hardware itself"),
    (f"{SLOWED}B", "hot", "by the power brake of the server"),
    (f"{SLOWED}P", "dim", "by the power limit"),
    (f"{SLOWED}R", "warm", "by the board or for reliability"),
    (DASH, "dim", "not known: select the row to see why"),
)
_PHASES: tuple[tuple[str, str, str], ...] = (
    ("compute", "compute", "forward, backward, optimizer"),
    ("data", "data", "waits for input"),
    ("h2d", "h2d", "copies to the GPU"),
    ("comm", "comm", "communication between ranks"),
    ("stalled", "hot", "no step ends, though it waits for no rank"),
    ("other", "other", "other phases"),
)


class HelpScreen(PictureScreen):
    """Any screen's help.

    Args:
        about: the screen whose keys are reported.
    """

    NAME = "help"
    BINDINGS: ClassVar[list[BindingType]] = [BACK, *SCROLLING]
    WITHOUT = frozenset({"signal", "sort", "filter", "help"})

    def __init__(self, about: Screen[Any]) -> None:
        super().__init__()
        self._keys = all_keys(about)
        self._first = 0

    def draw(self, view: View, width: int, height: int) -> Block:
        left_part = [_title("Keys"), *map(_key, self._keys)]
        right_part = [_title("Marks"), *map(_mark, [*_MARKS, *_phases(view)])]
        body = _columns(left_part, right_part, width)
        room = height - 2
        self._first = max(0, min(self._first, len(body) - room))
        upto = min(len(body), self._first + room)
        lines = [top_line(view, width), _position(self._first, upto, len(body), width)]
        lines += body[self._first : upto]
        return Block.of(lines + [blank(width)] * (height - len(lines)))

    def action_move(self, steps: int) -> None:
        self._first = max(0, self._first + steps)
        self.redraw()


def _position(first: int, upto: int, whole: int, width: int) -> Line:
    """Where there is more than fits, which part of it is shown."""
    if upto - first >= whole:
        return blank(width)
    note = f"lines {first + 1} to {upto} of {whole} {DOT} Up and Down scroll"
    return heading("Help", width, note)


def _phases(view: View) -> list[tuple[str, str, str]]:
    """As the bars are drawn: with letters only where there are no colors."""
    return [(LETTERS[name] if view.shaded else BLOCK, role, means) for name, role, means in _PHASES]


def _columns(first: list[Line], second: list[Line], width: int) -> list[Line]:
    if width < 100:
        return [LineBuilder(width).gap(2).extend(line).line() for line in [*first, (), *second]]
    rows = max(len(first), len(second))
    return [
        LineBuilder(width)
        .gap(2)
        .extend(first[at] if at < len(first) else ())
        .until(width // 2)
        .extend(second[at] if at < len(second) else ())
        .line()
        for at in range(rows)
    ]


def _title(text: str) -> Line:
    return ((text, "title"),)


def _key(keys: Keys) -> Line:
    return ((left(keys.names, 16), "key"), (keys.does, "text"))


def _mark(mark: tuple[str, str, str]) -> Line:
    glyph, role, means = mark
    return ((left(glyph, 4), role), (means, "text"))
