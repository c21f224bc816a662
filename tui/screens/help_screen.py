"""Help: the keys of the screen it was called from, what its marks mean, and each column and term on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from ..drawing.explanations import Section, Term
from ..drawing.glyphs import CLEARED, DASH, DOT, ERROR, INFO, SLOWED, WARNING
from ..drawing.lines import Line, LineBuilder, blank, heading, left, width_of, wrapped
from ..drawing.target import Block
from ..panels.top_line import top_line
from ..session.view import View
from ..widgets.keys import Keys, all_keys
from .picture_screen import BACK, SCROLLING, PictureScreen

_BESIDE_FROM = 120
"""Cells from which keys and marks lie beside what is explained."""
_KEY_CELLS = 16
_NAME_CELLS = 18
"""The most that names of terms take beside their texts; longer ones have a line of their own."""
_MARKS: tuple[tuple[str, str, str], ...] = (
    (ERROR, "error", "error: the job is hurt or will be"),
    (WARNING, "warning", "warning: time or money is lost"),
    (INFO, "info", "worth knowing"),
    (f"{WARNING} 2", "warning", "two causes. Symptoms do not count; one on several GPUs is one"),
    (CLEARED, "good", "cleared, or nothing found"),
    (f"{SLOWED}T", "hot", "clocks held down by heat"),
    (f"{SLOWED}H", "hot", "by the hardware itself"),
    (f"{SLOWED}B", "hot", "by the power brake of the server"),
    (f"{SLOWED}P", "dim", "by the power limit"),
    (f"{SLOWED}R", "warm", "by the board or for reliability"),
    (DASH, "dim", "not known: select the row to see why"),
)


class HelpScreen(PictureScreen):
    """Any screen's help.

    Args:
        about: the screen that is explained.
    """

    NAME = "help"
    BINDINGS: ClassVar[list[BindingType]] = [
        BACK,
        Binding("tab", "part(1)", "next part"),
        Binding("shift+tab", "part(-1)", "part before", show=False),
        *SCROLLING,
    ]
    WITHOUT = frozenset({"signal", "sort", "filter", "help"})

    def __init__(self, about: PictureScreen) -> None:
        super().__init__()
        self.about = about
        self._keys = all_keys(about)
        self.first = 0
        """Line of all of it at the top."""
        self._drawn: tuple[tuple[int, int], list[Line], list[int]] | None = None
        """A size with the lines of all of it, and where in them each part begins."""

    def draw(self, view: View, width: int, height: int) -> Block:
        body, _ = self._body(view, width, height)
        room = height - 2
        self.first = max(0, min(self.first, len(body) - room))
        upto = min(len(body), self.first + room)
        lines = [top_line(view, width), _position(self.first, upto, len(body), width)]
        lines += body[self.first : upto]
        return Block.of(lines + [blank(width)] * (height - len(lines)))

    @property
    def body(self) -> list[Line]:
        """All of it as drawn last, in sight or not."""
        return self._drawn[1] if self._drawn else []

    def _body(self, view: View, width: int, height: int) -> tuple[list[Line], list[int]]:
        """Of the moment at which help was called: what stands below must not move while it is read."""
        if self._drawn is None or self._drawn[0] != (width, height):
            shown = self.about.view() or view
            text = self.about.draw(shown, width, height).text
            sections = self.about.explained(shown, width, height)
            body, parts = _joined(self._keys, _marks_in(text), sections, width)
            self._drawn = ((width, height), body, parts)
        return self._drawn[1:]

    def explained(self, view: View, width: int, height: int) -> Sequence[Section]:
        return ()

    def action_move(self, steps: int) -> None:
        self.first = max(0, self.first + steps)
        self.redraw()

    def action_part(self, step: int) -> None:
        """Scroll to where the next part begins; after the last, or before the first, as far as it goes."""
        if self._drawn is None:
            return
        _, body, parts = self._drawn
        after = [at for at in parts if at > self.first]
        before = [at for at in parts if at < self.first]
        self.first = (after or [len(body)])[0] if step > 0 else (before or [0])[-1]
        self.redraw()


def _position(first: int, upto: int, whole: int, width: int) -> Line:
    """Where there is more than fits, which part of it is shown."""
    if upto - first >= whole:
        return blank(width)
    note = f"lines {first + 1} to {upto} of {whole} {DOT} Up Down PgDn {DOT} Tab next part"
    return heading("Help", width, note)


def _marks_in(text: str) -> list[tuple[str, str, str]]:
    """Those that stand in a picture; two causes wherever one could be."""
    return [mark for mark in _MARKS if mark[0].split()[0] in text]


def _joined(
    keys: Sequence[Keys],
    marks: Sequence[tuple[str, str, str]],
    sections: Sequence[Section],
    width: int,
) -> tuple[list[Line], list[int]]:
    """All of it, and the lines at which parts begin: side by side or one below the other."""
    beside = width >= _BESIDE_FROM
    each = width // 3 - 3 if beside else width - 4
    key_lines = [_title("Keys"), *(line for each_key in keys for line in _key(each_key, each))]
    mark_lines = [_title("Marks"), *(line for mark in marks for line in _mark(mark, each))]
    parts = [
        _section_lines(each_section, width - 6 - each if beside else each)
        for each_section in sections
    ]
    if beside:
        right, starts = _stacked(parts)
        left_side, _ = _stacked([key_lines, mark_lines])
        rows = max(len(left_side), len(right))
        return [
            _pair(_at(left_side, at), _at(right, at), each, width) for at in range(rows)
        ], starts
    # What is on the screen first on narrow ones would push the keys, which are few, far down.
    lines, starts = _stacked([key_lines, *parts, mark_lines])
    return [LineBuilder(width).gap(2).extend(line).line() for line in lines], starts


def _stacked(parts: Sequence[list[Line]]) -> tuple[list[Line], list[int]]:
    """One below the other with an empty line between, and where each begins."""
    lines: list[Line] = []
    starts: list[int] = []
    for part in parts:
        lines += [()] * bool(lines)
        starts.append(len(lines))
        lines += part
    return lines, starts


def _at(lines: Sequence[Line], at: int) -> Line:
    return lines[at] if at < len(lines) else ()


def _pair(one: Line, other: Line, each: int, width: int) -> Line:
    return LineBuilder(width).gap(2).extend(one).until(each + 4).extend(other).line()


def _section_lines(section: Section, width: int) -> list[Line]:
    lines = [_title(section.title)]
    longest = max((width_of(term.name) for term in section.terms), default=0)
    cells = min(_NAME_CELLS, longest + 2)
    for term in section.terms:
        lines += _term_lines(term, cells, width)
    return lines


def _term_lines(term: Term, cells: int, width: int) -> list[Line]:
    """The name, and its text beside it; below it where it is too long for that."""
    texts = wrapped(term.about, width - cells)
    indent = (" " * cells, "text")
    if width_of(term.name) > cells - 1:
        return [((term.name, "key"),), *((indent, (text, "text")) for text in texts)]
    names = [(left(term.name, cells), "key"), *[indent] * (len(texts) - 1)]
    return [(name, (text, "text")) for name, text in zip(names, texts, strict=True)]


def _title(text: str) -> Line:
    return ((text, "title"),)


def _key(keys: Keys, width: int) -> list[Line]:
    texts = wrapped(keys.does, width - _KEY_CELLS)
    return [
        ((left(keys.names if at == 0 else "", _KEY_CELLS), "key"), (text, "text"))
        for at, text in enumerate(texts)
    ]


def _mark(mark: tuple[str, str, str], width: int) -> list[Line]:
    glyph, role, means = mark
    texts = wrapped(means, width - 4)
    return [
        ((left(glyph if at == 0 else "", 4), role), (text, "text")) for at, text in enumerate(texts)
    ]
