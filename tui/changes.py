"""Which cells of a line differ from what was there before."""

from __future__ import annotations

from collections.abc import Iterator

from .lines import Line, width_of

JOIN_CELLS = 8
"""Moving the cursor costs about as many bytes as writing so many cells again."""


def changed_runs(before: Line, after: Line) -> list[tuple[int, int]]:
    """Runs of cells, as start and end, outside of which both lines look the same."""
    runs: list[tuple[int, int]] = []
    for start, end in _changed_spans(before, after):
        if runs and start - runs[-1][1] < JOIN_CELLS:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return runs


def _changed_spans(before: Line, after: Line) -> Iterator[tuple[int, int]]:
    """Spans are compared while they lie in the same places; from there on all counts as changed."""
    column = 0
    for at, span in enumerate(after):
        text, role = span
        width = len(text) if text.isascii() else width_of(text)
        if at >= len(before):
            yield column, column + width
        elif span != before[at]:
            was, old_role = before[at]
            if width_of(was) != width:
                yield from _beyond(before[at:], after[at:], column)
                return
            if role == old_role and width == len(text) == len(was):
                first, last = _trimmed(was, text)
                yield column + first, column + last
            else:
                yield column, column + width
        column += width


def _beyond(before: Line, after: Line, column: int) -> Iterator[tuple[int, int]]:
    """What differs where the spans do not lie in the same places: all but an equal end."""
    same = 0
    for old, new in zip(reversed(before), reversed(after), strict=False):
        if old != new:
            break
        same += width_of(new[0])
    yield column, column + sum(width_of(text) for text, _ in after) - same


def _trimmed(before: str, after: str) -> tuple[int, int]:
    """Where the first and the last different character of two texts of one length are."""
    first, last = 0, len(after)
    while first < last and before[first] == after[first]:
        first += 1
    while last > first and before[last - 1] == after[last - 1]:
        last -= 1
    return first, last
