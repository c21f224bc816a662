"""Tables with columns that never move: which fit, how wide each is, and one line per row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec

from .glyphs import SELECTED
from .lines import Line, LineBuilder, Span, left, right, text_of

Row = TypeVar("Row")
Spans = Sequence[Span]
MARGIN = 1
"""Cells on both sides of a table."""


class Column(msgspec.Struct, Generic[Row], frozen=True):
    """One column. ``cell`` is given the width that it must fill exactly."""

    title: str
    width: int
    cell: Callable[[Row, int], Spans]
    about: str
    """For the help: what it means, its unit, over which time, and where it is read."""
    rank: int = 0
    """Where they do not all fit, those with the highest go first; 0 stays."""
    most: int = 0
    """It may grow to this; 0: it does not."""
    ragged: bool = False
    """Text: title and cells at the left."""


class Layout(msgspec.Struct, Generic[Row], frozen=True):
    """Columns with their widths, for lines of one width."""

    columns: tuple[tuple[Column[Row], int], ...]
    width: int
    gap: int
    used: int
    """Cells that margin, columns and gaps take."""
    header: Line
    """The titles."""

    def line(self, row: Row) -> Line:
        """One row. Its cells fill their widths exactly, so nothing needs to be measured."""
        spans: list[Span] = [(" " * MARGIN, "text")]
        space: Span = (" " * self.gap, "text")
        for column, size in self.columns:
            spans.extend(column.cell(row, size))
            spans.append(space)
        spans[-1] = (" " * (self.width - self.used), "text")
        return tuple([span for span in spans if span[0]])


def chosen_line(line: Line, chosen: bool) -> Line:
    """A row with the mark of the selection in its margin, and on its first cell."""
    if not chosen or len(line) < 2:
        return line
    _, (first, _), *rest = line
    return ((SELECTED, "key"), (first, "mark"), *rest)


def with_note(header: Line, note: str, width: int) -> Line:
    """The titles of a table of ``width`` cells, with words at their end."""
    cut = LineBuilder(max(0, width - len(note) - 1)).add(text_of(header).rstrip(), "dim").line()
    return (*cut, (f"{note} ", "warm"))


def lay_out(columns: Sequence[Column[Row]], width: int, gap: int = 1) -> Layout[Row]:
    """The columns that fit, in their order, grown into what is left over."""
    room = width - 2 * MARGIN
    kept = list(columns)
    while len(kept) > 1 and _needed(kept, gap) > room:
        kept.remove(max(reversed(kept), key=lambda column: column.rank))
    sizes = _grown(kept, room - _needed(kept, gap))
    used = MARGIN + sum(sizes) + gap * (len(sizes) - 1)
    sized = tuple(zip(kept, sizes, strict=True))
    return Layout(sized, width, gap, used, _header(sized, width, gap))


def _header(columns: Sequence[tuple[Column[Row], int]], width: int, gap: int) -> Line:
    line = LineBuilder(width).gap(MARGIN)
    for at, (column, size) in enumerate(columns):
        line.gap(gap if at else 0)
        line.add((left if column.ragged else right)(column.title, size), "dim")
    return line.line()


def _grown(columns: Sequence[Column[Row]], spare: int) -> list[int]:
    """The widths, with what is to spare given out cell by cell."""
    sizes = [column.width for column in columns]
    growing: list[int] = [at for at in range(len(columns)) if columns[at].most > columns[at].width]
    while spare > 0 and growing:
        for at in growing[:spare]:
            sizes[at] += 1
        spare -= len(growing[:spare])
        growing = [at for at in growing if sizes[at] < columns[at].most]
    return sizes


def _needed(columns: Sequence[Column[Row]], gap: int) -> int:
    return sum(column.width for column in columns) + gap * (len(columns) - 1)
