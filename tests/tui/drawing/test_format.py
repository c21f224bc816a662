"""Numbers as people say them: exact where it matters, within their width always."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.tui.drawing import format

ANY = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True))
WIDTHS = st.integers(min_value=1, max_value=20)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0.0, "0 s"),
        (0.0412, "41 ms"),
        (0.412, "0.4 s"),
        (4.06, "4.1 s"),
        (9.96, "10 s"),
        (41.2, "41 s"),
        (119.0, "119 s"),
        (360.0, "6 min"),
        (7500.0, "2 h 05"),
        (273_600.0, "3 d 4 h"),
        (-3.0, "0 s"),
    ],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert format.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.3612, "ratio", "36 %"),
        (0.004, "ratio", "0.4 %"),
        (71.2 * 2**30, "bytes", "71.2 GiB"),
        (512 * 2**30, "bytes", "512 GiB"),
        (1.5e9, "bytes_per_second", "1.5 GB/s"),
        (1.41e9, "hertz", "1410 MHz"),
        (86.0, "celsius", "86 °C"),
        (612.4, "watts", "612 W"),
        (1.5, "cores", "1.5 cores"),
        (0.412, "seconds", "0.4 s"),
        ("rpc_wait", "", "rpc_wait"),
        (None, "bytes", "–"),
        (3.0, "processes", "3 processes"),
        (1, "processes", "1 process"),
        (1.0, "errors", "1 error"),
        (2, "errors", "2 errors"),
        (0.96, "links", "0.96 links"),
    ],
)
def test_quantities_in_the_units_of_people(value: float | str | None, unit: str, text: str) -> None:
    assert format.quantity(value, unit) == text


@pytest.mark.parametrize(
    ("value", "width", "decimals", "text"),
    [
        (71.23, 5, 1, " 71.2"),
        (1007.4, 4, 1, "1007"),
        (999.96, 5, 1, " 1000"),
        (123456.0, 4, 0, "123k"),
        (-0.01, 4, 1, " 0.0"),
        (1e30, 3, 0, "+++"),
        (None, 3, 0, "  –"),
    ],
)
def test_a_number_loses_decimals_before_it_loses_its_width(
    value: float | None, width: int, decimals: int, text: str
) -> None:
    assert format.number(value, width, decimals) == text


def test_a_step_number_is_grouped() -> None:
    assert format.grouped(18412) == "18 412"
    assert format.grouped(None) == "–"


def test_both_parts_of_a_pair_keep_their_place() -> None:
    assert format.used_of(71.2e9, 79.6e9, 1e9, 5, 1) == " 71.2/79.6 "
    assert format.used_of(None, 79.6e9, 1e9, 5, 1) == "    –/79.6 "


@given(ANY, WIDTHS, st.integers(min_value=0, max_value=6))
def test_a_number_has_exactly_its_width(value: float | None, width: int, decimals: int) -> None:
    assert len(format.number(value, width, decimals)) == width


@given(ANY, WIDTHS)
def test_percent_and_rate_have_exactly_their_width(value: float | None, width: int) -> None:
    assert len(format.percent(value, width)) == width
    assert len(format.rate(value, width)) == width


@given(ANY, ANY, st.integers(min_value=1, max_value=9), st.integers(min_value=0, max_value=3))
def test_a_pair_has_exactly_its_width(
    used: float | None, total: float | None, each: int, decimals: int
) -> None:
    assert len(format.used_of(used, total, 2.0**30, each, decimals)) == 2 * each + 1


def test_no_duration_has_more_than_three_characters() -> None:
    shown = [format.short_duration(seconds) for seconds in (99.4, 99.6, 119.0, 3599.0, 9e9)]
    assert shown == ["99s", "1m", "1m", "59m", "99y"]


@given(ANY)
def test_nothing_raises(value: float | None) -> None:
    assert len(format.short_duration(value)) <= 3
    assert format.duration(value)
    assert format.clock(value)
    assert format.binary(value)
    assert format.decimal(value)


@given(ANY, st.text(max_size=20))
def test_no_quantity_raises(value: float | None, unit: str) -> None:
    assert format.quantity(value, unit)
