"""Words of the command line that must be numbers of some kind, or another thing with a meaning.

Each function takes the word, and raises `argparse.ArgumentTypeError` with one clause for people.
"""

from __future__ import annotations

import argparse
import re

from ...probes.wire.limits import MAX_INTERVAL_SECONDS, MIN_INTERVAL_SECONDS

LONGEST_SECONDS = 3600.0
_PID_DIGITS = 9


def regular_expression(text: str) -> str:
    """One that Python can compile."""
    try:
        re.compile(text)
    except (re.error, OverflowError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from error
    return text


def seconds(text: str) -> float:
    """``30`` or ``30s``, within what makes sense."""
    try:
        number = float(text.removesuffix("s"))
    except ValueError:
        number = float("nan")
    if not 1.0 <= number <= LONGEST_SECONDS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of seconds from 1 to {LONGEST_SECONDS:g}"
        )
    return number


_SPAN = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)", re.ASCII)
_SPAN_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kMGT]?)(i?)B?", re.ASCII)
_POWERS = {"": 0, "k": 1, "M": 2, "G": 3, "T": 4}
LEAST_SIZE = 10_000_000


def span(text: str) -> float:
    """``90``, ``90s``, ``10m``, ``2h`` or ``7d``, in seconds."""
    match = _SPAN.fullmatch(text)
    seconds = float(match[1]) * _SPAN_SECONDS[match[2]] if match else 0.0
    if not 1.0 <= seconds < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 90s, 10m, 2h or 7d")
    return seconds


def size(text: str) -> int:
    """``500M``, ``2G`` or ``4GiB``, in bytes."""
    match = _SIZE.fullmatch(text)
    unit = 1024 if match and match[3] else 1000
    number = float(match[1]) * unit ** _POWERS[match[2]] if match else 0.0
    if not LEAST_SIZE <= number < 1e18:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a size such as 500M, 2G or 4GiB, of at least 10M"
        )
    return int(number)


def interval(text: str) -> float:
    """Between samples."""
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not MIN_INTERVAL_SECONDS <= number <= MAX_INTERVAL_SECONDS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of seconds from {MIN_INTERVAL_SECONDS:g} "
            f"to {MAX_INTERVAL_SECONDS:g}"
        )
    return number


def pid(text: str) -> int:
    """A positive number of at most nine digits."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a process id, which is a positive number"
        )
    if not text.strip("0"):
        raise argparse.ArgumentTypeError(f"{text} is not a process id: the first is 1")
    if len(text.lstrip("0")) > _PID_DIGITS:
        raise argparse.ArgumentTypeError(f"{text} is not a process id: none is so large")
    return int(text)
