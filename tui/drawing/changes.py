"""Which cells of a line differ from what was there before."""

from __future__ import annotations

from .lines import Line, Span, spans_width, width_of


def changed_cells(before: Line, after: Line) -> tuple[int, int] | None:
    """Start and end of the cells outside of which two lines of one width look the same.

    One run a line: where both ends of a row have changed, most between them has too, and finding the
    cells that have not costs more time than sending them costs bytes.
    """
    most = min(len(before), len(after))
    first = last = 0
    while first < most and before[first] == after[first]:
        first += 1
    while last < most - first and before[-1 - last] == after[-1 - last]:
        last += 1
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    start = spans_width(after[:first])
    end = start + spans_width(new)
    if old and new:
        start += _same(old[0], new[0], 1)
        end -= _same(old[-1], new[-1], -1)
    return (start, end) if start < end else None


def _same(old: Span, new: Span, step: int) -> int:
    """How many cells two spans have in common, from the left (``step`` 1) or from the right (-1)."""
    if old[1] != new[1] or not (_even(old[0]) and _even(new[0])):
        return 0
    same = 0
    for one, other in zip(old[0][::step], new[0][::step], strict=False):
        if one != other:
            break
        same += 1
    return same


def _even(text: str) -> bool:
    """Each character is of one cell."""
    return len(text) == width_of(text)
