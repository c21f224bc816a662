"""Which cells of a line differ from what was there before."""

from __future__ import annotations

from collections.abc import Iterator

from .lines import Line, Span, width_of

JOIN_CELLS = 48
"""Moving the cursor costs as many bytes as writing 8 cells again; and each run costs time here."""


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
    """Both lines are walked along, span by span, and meet again wherever their spans end alike."""
    old_at = new_at = column = 0
    while new_at < len(after) and old_at < len(before):
        old, new = before[old_at], after[new_at]
        old_at, new_at = old_at + 1, new_at + 1
        end = column + width_of(new[0])
        if old is new or old == new:
            column = end
            continue
        old_end = column + width_of(old[0])
        if old_end == end:
            yield _within(old, new, column, end)
            column = end
            continue
        start = column
        while old_end != end:
            if old_end < end:
                old_end += width_of(before[old_at][0])
                old_at += 1
            else:
                end += width_of(after[new_at][0])
                new_at += 1
        yield start, end
        column = end


def _within(old: Span, new: Span, column: int, end: int) -> tuple[int, int]:
    """What differs between two spans of one place."""
    if old[1] == new[1] and len(old[0]) == len(new[0]) == end - column:
        first, last = _trimmed(old[0], new[0])
        return column + first, column + last
    return column, end


def _trimmed(before: str, after: str) -> tuple[int, int]:
    """Where the first and the last different character of two texts of one length are."""
    first, last = 0, len(after)
    while first < last and before[first] == after[first]:
        first += 1
    while last > first and before[last - 1] == after[last - 1]:
        last -= 1
    return first, last
