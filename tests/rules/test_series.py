"""The past in pieces of time: they stay where they are, whatever the interval of the samples was."""

from __future__ import annotations

import math
from array import array
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.rules.series import Series


def series(*points: tuple[float, float | None]) -> Series:
    times = array("d", [time for time, _ in points])
    values = array("d", [math.nan if value is None else value for _, value in points])
    return Series(times, values)


def test_each_cell_is_the_mean_of_its_time() -> None:
    seen = series((10.0, 1.0), (10.5, 3.0), (11.0, 5.0), (12.9, 7.0))
    assert seen.cells(1.0, 4, fmean) == [None, 2.0, 5.0, 7.0]


@pytest.mark.parametrize("interval", [0.2, 0.5, 1.0, 2.0, 5.0, 10.0])
def test_samples_farther_apart_than_cells_leave_no_holes(interval: float) -> None:
    count = int(60 / interval)
    seen = series(*((number * interval, 4.0) for number in range(count + 1)))
    assert seen.cells(1.0, 60, fmean) == [4.0] * 60


def test_a_changed_interval_does_not_bend_the_axis() -> None:
    slow = [(float(second), 1.0) for second in range(0, 30, 10)]
    fast = [(30 + number / 5, 2.0) for number in range(150)]
    assert series(*slow, *fast).cells(10.0, 6, fmean) == [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]


def test_what_was_missing_and_what_never_came_stay_empty() -> None:
    seen = series((0.0, 1.0), (1.0, None), (2.0, 3.0), (60.0, 4.0), (61.0, 5.0))
    cells = seen.cells(1.0, 62, fmean)
    assert cells[:3] == [1.0, None, 3.0]
    assert cells[2:14] == [3.0] * 12 and cells[15:60] == [None] * 45
    assert cells[60:] == [4.0, 5.0]


@given(
    gaps=st.lists(st.floats(0.01, 20.0), min_size=1, max_size=60),
    seconds=st.sampled_from([1.0, 1.5, 2.5, 10.0]),
    count=st.integers(1, 80),
)
def test_cells_that_are_over_never_change(gaps: list[float], seconds: float, count: int) -> None:
    time, points = 1000.0, [(1000.0, 0.0)]
    for number, gap in enumerate(gaps):
        time += gap
        points.append((time, float(number)))
    before = series(*points).cells(seconds, count, fmean)
    later = series(*points, (points[-1][0] + seconds, 9.0)).cells(seconds, count + 1, fmean)
    assert len(before) == count
    assert later[:-2] == before[:-1]
