"""Quantities as pictures in text: gauges, stacked bars, sparklines and charts."""

from __future__ import annotations

from collections.abc import Sequence

from .glyphs import BAR_FULL, BAR_HALF, BAR_REST, BRAILLE, EIGHTHS
from .lines import Span

_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
"""Bits of a braille cell, bottom to top, left column first."""


def gauge(ratio: float | None, width: int, role: str) -> tuple[Span, ...]:
    """A bar from empty to full."""
    if ratio is None:
        return ((" " * width, "text"),)
    halves = round(min(1.0, max(0.0, ratio)) * width * 2)
    if ratio > 0 and halves == 0:
        halves = 1
    full = BAR_FULL * (halves // 2) + BAR_HALF * (halves % 2)
    return ((full, role), (BAR_REST * (width - len(full)), "trough"))


def shares(ratios: Sequence[float], width: int) -> list[int]:
    """Whole cells for each share of one bar; together ``width`` where the ratios sum to 1."""
    cells: list[int] = []
    reached, taken = 0.0, 0
    for ratio in ratios:
        reached += max(0.0, ratio)
        upto = min(width, round(reached * width))
        cells.append(upto - taken)
        taken = upto
    return cells


def sparkline(values: Sequence[float | None], width: int, top: float) -> str:
    """One cell a value, the newest at the right; a missing one is a gap."""
    cells = [_eighth(value, top) for value in values[-width:]] if width > 0 else []
    return "".join(cells).rjust(width)


def buckets(values: Sequence[float | None], size: int, phase: int) -> list[float | None]:
    """Means of ``size`` values each, cut so that they stay together while values are added.

    Args:
        values: oldest first.
        size: of each bucket.
        phase: how many values there ever were.
    """
    newest = phase % size or size
    ends = range(len(values) - newest, 0, -size)
    groups = [values[len(values) - newest :], *(values[max(0, end - size) : end] for end in ends)]
    return [_mean(group) for group in reversed(groups)]


def chart(values: Sequence[float | None], width: int, height: int, top: float) -> list[str]:
    """Rows of braille from the highest down, two values a cell, the newest at the right."""
    columns: list[float | None] = list(values[-2 * width :])
    columns = [None] * (2 * width - len(columns)) + columns
    levels = [_level(value, top, 4 * height) for value in columns]
    return [
        "".join(
            _braille_cell(levels[2 * at], levels[2 * at + 1], 4 * row) for at in range(width)
        )
        for row in reversed(range(height))
    ]


def _eighth(value: float | None, top: float) -> str:
    if value is None:
        return " "
    share = value / top if top > 0 else 0.0
    return EIGHTHS[min(7, max(0, int(share * 8)))]


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None


def _level(value: float | None, top: float, most: int) -> int:
    if value is None or top <= 0:
        return 0
    return min(most, max(1, round(value / top * most)))


def _braille_cell(first: int, second: int, below: int) -> str:
    bits = 0
    for level, dots in zip((first, second), _DOTS, strict=True):
        for at in range(min(4, max(0, level - below))):
            bits |= dots[at]
    return chr(BRAILLE + bits)
