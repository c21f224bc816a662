"""Quantities as pictures in text: gauges, stacked bars, sparklines and charts."""

from __future__ import annotations

from collections.abc import Sequence

from .glyphs import BAR_FULL, BAR_HALF, BAR_REST, EIGHTHS
from .lines import Span

_SPARKS = EIGHTHS[:7]
"""Without the full block, so that lines under each other stay apart."""


def gauge(ratio: float | None, width: int, role: str) -> tuple[Span, ...]:
    """A bar from empty to full."""
    if ratio is None:
        return ((" " * width, "text"),)
    halves = round(min(1.0, max(0.0, ratio)) * width * 2)
    if ratio > 0 and width > 0:
        halves = max(1, halves)
    full = BAR_FULL * (halves // 2) + BAR_HALF * (halves % 2)
    return ((full, role), (BAR_REST * (width - len(full)), "trough"))


def level(ratio: float) -> str:
    """The same in one cell that fills from below; empty still shows where it is."""
    within = min(1.0, max(0.0, ratio))
    return EIGHTHS[min(len(EIGHTHS) - 1, int(within * len(EIGHTHS)))]


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
    newest = values[-width:] if width > 0 else ()
    scale, most = len(_SPARKS) / top if top > 0 else 0.0, len(_SPARKS) - 1
    return "".join(
        [
            " " if value is None else _SPARKS[int(min(most, max(0.0, value * scale)))]
            for value in newest
        ]
    ).rjust(width)


def chart(values: Sequence[float | None], width: int, height: int, top: float) -> list[str]:
    """Rows of blocks from the highest down, one cell a value, the newest at the right."""
    newest: Sequence[float | None] = values[-width:] if width > 0 else ()
    levels = [_level(value, top, 8 * height) for value in newest]
    return [
        "".join([_block(level - 8 * row) for level in levels]).rjust(width)
        for row in reversed(range(height))
    ]


def _level(value: float | None, top: float, most: int) -> int:
    """Eighths of a cell; what is there but zero still shows."""
    if value is None or top <= 0:
        return 0
    return max(1, round(min(1.0, value / top) * most))


def _block(level: int) -> str:
    return EIGHTHS[min(level, 8) - 1] if level > 0 else " "
