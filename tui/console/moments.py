"""A time of a recording, as people type it: with a date and a zone, as a time of day, or before its end."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from .errors import UsageError

Moment = Callable[[float, float], float]
"""Gives the Unix time, for a recording that begins and ends at two others."""

_BEFORE = re.compile(r"-(\d+(?:\.\d+)?)([smhd]?)", re.ASCII)
_OF_DAY = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?", re.ASCII)
_UNIT_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
HELP = "2026-11-30T22:10:05+01:00, 22:10:05 (of the recording's last day), or -5m (before its end)"


def moment(text: str) -> Moment:
    """What is meant; for argparse."""
    if before := _BEFORE.fullmatch(text):
        seconds = float(before[1]) * _UNIT_SECONDS[before[2]]
        return lambda _, end: end - seconds
    if of_day := _OF_DAY.fullmatch(text):
        hours, minutes, seconds = int(of_day[1]), int(of_day[2]), float(of_day[3] or 0)
        if hours < 24 and minutes < 60 and seconds < 60:
            return lambda begin, end: _last_time_of_day(begin, end, text, hours, minutes, seconds)
    return _absolute(text)


def _absolute(text: str) -> Moment:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as {HELP}")
    if at.tzinfo is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} says no zone: add Z for UTC, or an offset such as +01:00"
        )
    try:
        seconds = at.timestamp()
    except (OverflowError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is a time that cannot be") from error
    return lambda _begin, _end: seconds


def _last_time_of_day(
    begin: float, end: float, text: str, hours: int, minutes: int, seconds: float
) -> float:
    """The last such time of day, in this zone, that the recording has.

    Raises:
        UsageError: when it has none.
    """
    try:
        last = datetime.fromtimestamp(end)
        for days in range(3):
            day = last - timedelta(days=days)
            at = day.replace(
                hour=hours, minute=minutes, second=int(seconds), microsecond=0
            ).timestamp()
            at += seconds % 1
            if at <= end:
                if at >= begin - 1.0:
                    return at
                break
    except (OverflowError, ValueError, OSError):
        pass
    raise UsageError(f"{text} is not in the recording, which is {span_words(begin, end)}")


def span_words(begin: float, end: float) -> str:
    """From when to when, in this zone and with it."""
    return f"from {local(begin)} to {local(end)}"


def local(seconds: float) -> str:
    """A Unix time in this zone, with its offset."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return f"{seconds:g} s of Unix time"
