"""Help: the keys of the screen it was called from, as bound, and what the marks mean."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen

from ..glyphs import BLOCK, CLEARED, DASH, ERROR, INFO, SHADES, SLOWED, WARNING
from ..keys import Keys, all_keys
from ..lines import Line, LineBuilder, blank, left
from ..view import Block, View
from ..widgets.top_line import top_line
from .picture_screen import PictureScreen

_MARKS: tuple[tuple[str, str, str], ...] = (
    (ERROR, "error", "error: the job is hurt or will be"),
    (WARNING, "warning", "warning: time or money is lost"),
    (INFO, "info", "worth knowing"),
    (CLEARED, "good", "gone, or nothing found"),
    (f"{SLOWED}T", "hot", "clocks held down by heat"),
    (f"{SLOWED}H", "hot", "by the hardware itself"),
    (f"{SLOWED}B", "hot", "by the power brake of the server"),
    (f"{SLOWED}P", "dim", "by the power limit"),
    (f"{SLOWED}R", "warm", "by the board or for reliability"),
    (DASH, "dim", "not known: select the row to see why"),
)
_PHASES: tuple[tuple[str, str, str], ...] = (
    (SHADES[0], "compute", "forward, backward, optimizer"),
    (SHADES[1], "data", "waits for input"),
    (SHADES[2], "comm", "communication between ranks"),
    (SHADES[3], "other", "other phases"),
)


class HelpScreen(PictureScreen):
    """Any screen's help.

    Args:
        about: the screen whose keys are told.
    """

    def __init__(self, about: Screen[Any]) -> None:
        super().__init__()
        self.id = "help"
        self._keys = all_keys(about)
        self._first = 0

    def draw(self, view: View, width: int, height: int) -> Block:
        left_part = [_title("Keys"), *map(_key, self._keys)]
        right_part = [_title("Marks"), *map(_mark, [*_MARKS, *_phases(view)])]
        body = _columns(left_part, right_part, width)
        room = height - 2
        self._first = max(0, min(self._first, len(body) - room))
        lines = [top_line(view, width), blank(width), *body[self._first : self._first + room]]
        return Block.of(lines + [blank(width)] * (height - len(lines)))

    def action_move(self, steps: int) -> None:
        self._first = max(0, self._first + steps)
        self.redraw()


def _phases(view: View) -> list[tuple[str, str, str]]:
    """As the bars are drawn: in shades only where there are no colours."""
    return [(shade if view.shaded else BLOCK, role, means) for shade, role, means in _PHASES]


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
