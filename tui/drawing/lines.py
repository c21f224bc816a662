"""Lines of text with roles: what pictures are made of before any color is known."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from functools import lru_cache

from rich.cells import cell_len, set_cell_size

from .glyphs import DOT, ELLIPSIS, RULE

Span = tuple[str, str]
"""Text, and the role it plays; `look.ROLES` says what each role looks like."""
Line = tuple[Span, ...]
_NO_BREAK = "\u00a0"
"""`plain` leaves none of them."""
_NOT_PLAIN_JSON = r"[^\t\n\x20-\x7e]"
_BETWEEN_WORDS = re.compile(" ")
_BETWEEN_PARTS = re.compile(f" {DOT} |  ")


def plain(text: str) -> str:
    """Text from outside with nothing in it that could move the cursor or join with its neighbors."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if _is_plain(character) else "?" for character in text)


def plain_text(lines: Iterable[str]) -> str:
    """Lines for people: no text in one of them can begin another."""
    return "\n".join(map(plain, lines))


def plain_json(text: str) -> str:
    """JSON that means the same, with ``\\uXXXX`` for every character that is not plain."""
    return re.sub(_NOT_PLAIN_JSON, lambda found: _escaped(found[0]), text)


def _is_plain(character: str) -> bool:
    return character.isprintable() and cell_len(character) > 0


def _escaped(character: str) -> str:
    if _is_plain(character):
        return character
    if character == "\r":  # no string in JSON has one, so it stands between two values
        return "\n"
    halves = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{halves[at : at + 4]}" for at in range(0, len(halves), 4))


@lru_cache(maxsize=4096)
def width_of(text: str) -> int:
    """How many cells it takes."""
    # Of the texts of a picture nearly all were in the last one too.
    return len(text) if text.isascii() else cell_len(text)


def clip(text: str, width: int) -> str:
    """The text in at most ``width`` cells; an ellipsis marks what was cut."""
    if width <= 0:
        return ""
    if width_of(text) <= width:
        return text
    return set_cell_size(text, width - 1) + ELLIPSIS


def whole_words(text: str, width: int) -> str:
    """As many words as fit, each of them whole; an ellipsis stands for the others."""
    return _whole(text, width, [match.start() for match in _BETWEEN_WORDS.finditer(text)])


def whole_parts(text: str, width: int) -> str:
    """As many of the parts of a text as fit, each of them whole; an ellipsis stands for the others."""
    return _whole(text, width, [match.end() for match in _BETWEEN_PARTS.finditer(text)])


def _whole(text: str, width: int, ends: Sequence[int]) -> str:
    """The text up to the last of these places from which on an ellipsis fits."""
    if width_of(text) <= width:
        return text
    for end in reversed(ends):
        kept = text[:end] + ELLIPSIS
        if width_of(kept) <= width:
            return kept
    return clip(text, width)


def broken(text: str, width: int) -> tuple[str, ...]:
    """The text in lines of at most ``width`` cells, broken between words where they are short enough."""
    width = max(1, width)
    # Wide characters are broken as if all were wide: rather a line too many than an end that is cut.
    cells = width if width_of(text) == len(text) else max(1, width // 2)
    joined = text.replace(" %", f"{_NO_BREAK}%")
    parts = textwrap.wrap(joined, cells, break_on_hyphens=False)
    return tuple(part.replace(_NO_BREAK, " ") for part in parts)


wrapped = lru_cache(maxsize=512)(broken)
"""The same, for what is drawn again each second. Secrets are not for it: it remembers."""


def paragraph(
    text: str, width: int, role: str = "text", first: str = "  ", after: str | None = None
) -> list[Line]:
    """The whole text, in as many lines of exactly ``width`` cells as it takes.

    Args:
        text: with nothing in it that moves the cursor.
        width: cells.
        role: of the text.
        first: before the first line.
        after: before the others, where not as much space.
    """
    indent = width_of(first)
    parts = wrapped(text, width - indent) or ("",)
    starts = [first, *[" " * indent if after is None else after] * (len(parts) - 1)]
    return [
        LineBuilder(width).add(start, "dim").add(part, role).line()
        for start, part in zip(starts, parts, strict=True)
    ]


def left(text: str, width: int) -> str:
    """The text in exactly ``width`` cells, at the left."""
    if len(text) <= width and text.isascii():
        return text.ljust(width)
    clipped = clip(text, width)
    return clipped + " " * (width - width_of(clipped))


def right(text: str, width: int) -> str:
    """The text in exactly ``width`` cells, at the right."""
    if len(text) <= width and text.isascii():
        return text.rjust(width)
    clipped = clip(text, width)
    return " " * (width - width_of(clipped)) + clipped


class LineBuilder:
    """Puts a line of exactly ``width`` cells together, from the left. What does not fit is cut.

    An ellipsis at the end says so, also where nothing of a text had room any more.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._used = 0
        self._spans: list[Span] = []

    @property
    def room(self) -> int:
        """Cells that are left."""
        return self._width - self._used

    def add(self, text: str, role: str = "text") -> LineBuilder:
        """Put text at the end."""
        room = self._width - self._used
        taken = width_of(text)
        if taken > room:
            if room == 0:
                self._say_cut(text)
                return self
            text = clip(text, room)
            taken = width_of(text)
        if text:
            self._spans.append((text, role))
            self._used += taken
        return self

    def _say_cut(self, text: str) -> None:
        if text.isspace() or not self._spans:
            return
        last, role = self._spans[-1]
        if not last.endswith(ELLIPSIS):
            self._spans[-1] = (set_cell_size(last, width_of(last) - 1) + ELLIPSIS, role)

    def extend(self, spans: Iterable[Span]) -> LineBuilder:
        """Put spans at the end."""
        for text, role in spans:
            self.add(text, role)
        return self

    def gap(self, cells: int = 1) -> LineBuilder:
        """Leave cells empty."""
        return self.add(" " * min(cells, self.room), "text")

    def until(self, column: int) -> LineBuilder:
        """Leave everything up to that column empty."""
        return self.gap(max(0, column - self._used))

    def line(self) -> Line:
        """The whole line."""
        self.gap(self.room)
        return tuple(self._spans)


def blank(width: int) -> Line:
    """An empty line."""
    return ((" " * width, "text"),) if width > 0 else ()


def heading(title: str, width: int, note: str = "") -> Line:
    """A panel's title, with a rule to the end of the line."""
    line = LineBuilder(width).add(RULE * 2 + " ", "rule").add(title, "title").gap()
    if note:
        fits = width_of(note) <= line.room
        line.add(note if fits else whole_parts(note, line.room), "dim").gap()
    return line.add(RULE * line.room, "rule").line()


def spans_width(spans: Iterable[Span]) -> int:
    """How many cells they take."""
    return sum(width_of(text) for text, _ in spans)


def text_of(line: Line) -> str:
    """The line without its roles."""
    return "".join(text for text, _ in line)
