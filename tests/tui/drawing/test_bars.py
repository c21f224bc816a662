"""Bars and curves: whatever the values are, each is as wide as it was asked to be."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from gputop.tui.drawing.bars import chart, gauge, sparkline

VALUES = st.lists(st.none() | st.floats(0, allow_nan=False), max_size=30)
TOPS = st.floats(0, allow_nan=False, allow_infinity=False)
WIDTHS = st.integers(0, 20)


@given(VALUES, WIDTHS, TOPS)
@example([0.0, 1.0], 2, 5e-324)  # a scale beyond all numbers
def test_a_sparkline_has_its_width(values: list[float | None], width: int, top: float) -> None:
    assert len(sparkline(values, width, top)) == width


@given(VALUES, WIDTHS, st.integers(1, 6), TOPS)
@example([0.0, 1.0], 2, 2, 5e-324)
def test_a_chart_has_its_size(
    values: list[float | None], width: int, height: int, top: float
) -> None:
    rows = chart(values, width, height, top)
    assert [len(row) for row in rows] == [width] * height


@given(st.none() | st.floats(allow_nan=False), WIDTHS)
def test_a_gauge_has_its_width(ratio: float | None, width: int) -> None:
    assert sum(len(text) for text, _ in gauge(ratio, width, "gauge")) == width


def test_a_sparkline_rises_with_its_values() -> None:
    assert sparkline([0.0, None, 0.5, 1.0], 5, 1.0) == " ▁ ▄▇"
