"""Words of the command line that must be numbers of some kind, or another thing with a meaning.

Each function takes the word, and raises `argparse.ArgumentTypeError` with one clause for people.
"""

from __future__ import annotations

import argparse
import re

from ...probes.wire.limits import MAX_INTERVAL_SECONDS, MIN_INTERVAL_SECONDS

LONGEST_SECONDS = 3600.0
_PID_DIGITS = 9
_MOST_PORT = 65535
_SIZE = r"(\d+(?:\.\d+)?)([kKmMgGtT]?)B?"
_SPAN = r"([0-9]+(?:\.[0-9]+)?)([smhd])"
_SPAN_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_FACTORS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4}
_LEAST_BYTES = 1000**2


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


def address(text: str) -> tuple[str, int]:
    """``127.0.0.1:9834``, ``[::1]:9834``, ``:9834`` for all addresses of this machine."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not port.isdecimal() or int(port) > _MOST_PORT:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no address to listen on: HOST:PORT, such as 127.0.0.1:9834"
        )
    return host or "0.0.0.0", int(port)


def file(text: str) -> str:
    """A path that ends in the name of a file."""
    if "\0" in text or text.rpartition("/")[2] in ("", ".", ".."):
        raise argparse.ArgumentTypeError(f"{text!r} names no file")
    return text


def size(text: str) -> int:
    """``500M``, ``2G`` or a number of bytes: at least a megabyte."""
    found = re.fullmatch(_SIZE, text)
    number = int(float(found[1]) * _FACTORS[found[2].upper()]) if found else 0
    if number < _LEAST_BYTES:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no size of a megabyte or more, such as 500M or 2G"
        )
    return number


def span(text: str) -> float:
    """``90m``, ``24h`` or ``7d``, in seconds: at least a minute."""
    found = re.fullmatch(_SPAN, text)
    number = float(found[1]) * _SPAN_SECONDS[found[2]] if found else 0.0
    if not 60.0 <= number <= 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 90m, 24h or 7d")
    return number


def speed(text: str) -> float:
    """How many times as fast."""
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not 0.1 <= number <= 100.0:
        raise argparse.ArgumentTypeError(f"{text!r} is no speed from 0.1 to 100")
    return number


def count(text: str) -> int:
    """At least one."""
    if not text.isdecimal() or not 1 <= int(text) <= 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def tolerance(text: str) -> float:
    """``0.1`` or ``10%``, as a ratio."""
    try:
        number = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        number = float("nan")
    if not 0.0 <= number <= 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is no share from 0 to 1, such as 0.1 or 10%")
    return number
