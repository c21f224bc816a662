"""Times of a recording and amounts, as people type them."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from gputop.tui.console.errors import UsageError
from gputop.tui.console.moments import local, moment
from gputop.tui.console.values import size, span


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


BEGIN, END = at("2026-11-29T20:00:00"), at("2026-11-30T22:30:00")


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-11-30T22:10:05Z", "2026-11-30T22:10:05"),
        ("2026-11-30T22:10:05+01:00", "2026-11-30T21:10:05"),
        ("2026-11-30 22:10:05.5-05:00", "2026-12-01T03:10:05.500"),
        ("20261130T221005Z", "2026-11-30T22:10:05"),
        ("22:10:05", "2026-11-30T21:10:05"),
        ("22:10", "2026-11-30T21:10:00"),
        ("9:05", "2026-11-30T08:05:00"),
        ("23:30", "2026-11-30T22:30:00"),
        ("23:30:01", "2026-11-29T22:30:01"),
        ("-5m", "2026-11-30T22:25:00"),
        ("-90", "2026-11-30T22:28:30"),
        ("-1.5h", "2026-11-30T21:00:00"),
        ("-0s", "2026-11-30T22:30:00"),
    ],
)
def test_a_time_of_a_recording(text: str, utc: str) -> None:
    assert moment(text)(BEGIN, END) == at(utc)


@pytest.mark.parametrize("text", ["21:30", "20:00:00"])
def test_a_time_of_day_that_a_short_recording_has_not(text: str) -> None:
    with pytest.raises(UsageError, match=f"{text} is not in the recording, which is from .* to .*"):
        moment(text)(END - 600, END)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2026-11-30T22:10:05", "says no zone"),
        ("2026-11-30", "says no zone"),
        ("24:00", "is not a time such as"),
        ("22:61", "is not a time such as"),
        ("-5w", "is not a time such as"),
        ("", "is not a time such as"),
        ("now", "is not a time such as"),
        ("٢٢:١٠", "is not a time such as"),
    ],
)
def test_what_is_no_time(text: str, said: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=said):
        moment(text)


def test_a_time_is_shown_in_this_zone() -> None:
    assert local(END) == "2026-11-30 23:30:00 +0100"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90.0), ("90s", 90.0), ("10m", 600.0), ("1.5h", 5400.0), ("7d", 604800.0)],
)
def test_a_span(text: str, seconds: float) -> None:
    assert span(text) == seconds


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("10000000", 10**7),
        ("500M", 5 * 10**8),
        ("2G", 2 * 10**9),
        ("4GiB", 4 << 30),
        ("1 TB", 10**12),
    ],
)
def test_a_size(text: str, count: int) -> None:
    assert size(text) == count


@pytest.mark.parametrize("text", ["0", "0.5s", "5w", "-5m", "", "1e3", "inf", "99999999999d"])
def test_what_is_no_span(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        span(text)


@pytest.mark.parametrize("text", ["0", "1k", "5X", "-5M", "", "1e9", "GiB"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        size(text)
