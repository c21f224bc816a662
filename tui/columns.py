"""Tables with columns that never move: which fit, how wide each is, and one line per row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from .lines import Line, LineBuilder, Span, left, right

Row = TypeVar("Row")
Spans = Sequence[Span]


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column. ``cell`` is told the width that it must fill exactly."""

    title: str
    width: int
    cell: Callable[[Row, int], Spans]
    rank: int = 0
    """Where they do not all fit, those with the highest go first; 0 stays."""
    most: int = 0
    """It may grow to this; 0: it does not."""
    ragged: bool = False
    """Text: title and cells at the left."""


@dataclass(frozen=True)
class Placed(Generic[Row]):
    """A column with its width."""

    column: Column[Row]
    width: int


def place(columns: Sequence[Column[Row]], width: int, gap: int = 1) -> tuple[Placed[Row], ...]:
    """The columns that fit, in their order, grown into what is left over."""
    kept = list(columns)
    while len(kept) > 1 and _needed(kept, gap) > width:
        kept.remove(max(reversed(kept), key=lambda column: column.rank))
    widths = [column.width for column in kept]
    spare = width - _needed(kept, gap)
    growing = [at for at, column in enumerate(kept) if column.most > column.width]
    while spare > 0 and growing:
        for at in list(growing):
            if spare > 0:
                widths[at] += 1
                spare -= 1
            if widths[at] >= kept[at].most:
                growing.remove(at)
    return tuple(Placed(column, size) for column, size in zip(kept, widths, strict=True))


def header(placed: Sequence[Placed[Row]], width: int, gap: int = 1, margin: int = 1) -> Line:
    """The titles."""
    line = LineBuilder(width).gap(margin)
    for at, (column, size) in enumerate((item.column, item.width) for item in placed):
        line.gap(gap if at else 0)
        line.add((left if column.ragged else right)(column.title, size), "dim")
    return line.line()


def row_line(
    placed: Sequence[Placed[Row]], row: Row, width: int, gap: int = 1, margin: Span = (" ", "text")
) -> Line:
    """One row."""
    spans: list[Span] = [margin]
    space: Span = (" " * gap, "text")
    for at, item in enumerate(placed):
        if at:
            spans.append(space)
        spans.extend(item.column.cell(row, item.width))
    return LineBuilder(width).extend(spans).line()


def _needed(columns: Sequence[Column[Row]], gap: int) -> int:
    return sum(column.width for column in columns) + gap * (len(columns) - 1)
