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
    """Spans that have the same place in both lines are compared; all else counts as changed."""
    old = _placed(before)
    column = 0
    for text, role in after:
        width = width_of(text)
        was = old.get(column)
        if was != (text, role):
            if was is not None and was[1] == role and _alike(was[0], text):
                first, last = _trimmed(was[0], text)
                yield column + first, column + last
            else:
                yield column, column + width
        column += width


def _alike(before: str, after: str) -> bool:
    """Whether both have one character a cell, and as many of them."""
    return len(before) == len(after) == width_of(before) == width_of(after)


def _placed(line: Line) -> dict[int, tuple[str, str]]:
    placed: dict[int, tuple[str, str]] = {}
    column = 0
    for span in line:
        placed[column] = span
        column += width_of(span[0])
    return placed


def _trimmed(before: str, after: str) -> tuple[int, int]:
    """Where the first and the last different character of two texts of one length are."""
    first, last = 0, len(after)
    while first < last and before[first] == after[first]:
        first += 1
    while last > first and before[last - 1] == after[last - 1]:
        last -= 1
    return first, last
