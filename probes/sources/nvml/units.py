"""From NVML's numbers to SI units, or to ``None`` with a reason where a number cannot be true.

Each rule takes what the driver gave and returns an `Answer`; together they are the only place that
knows NVML's ways of saying "no value".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...model.missing_reasons import NO_VALUE
from .call import Answer

# NVML_VALUE_NOT_AVAILABLE is all ones in 32 or 64 bits; what reaches NVML through DCGM or as a signed
# number sits just below 2^31 and 2^63. No real 32-bit value here is as big as that.
_BLANK_32 = 0x7FFFFFF0
_BLANK_64 = 0x7FFFFFFFFFFFFFF0

_WATTS_OVER_LIMIT = 3.0
_WATTS_IMPOSSIBLE = 10_000.0
_CELSIUS_IMPOSSIBLE = 200
_MEGAHERTZ_IMPOSSIBLE = 20_000
"""Memory clocks are reported as transfers by some chips, which is up to 14 000 by now."""
_PERCENT_ROUNDING = 101.0
_LONGEST_TEXT = 256


# Each rule looks first for the good value, which is nearly always there: some hundred are judged at
# each tick. A value of another type than NVML documents is none, however well it would fit: a driver
# that stores a double where a whole number belongs stores garbage for all that is known.


def _no_number(value: Any) -> Answer[Any]:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return Answer(None, f"driver gave no number but {_article(type(value).__name__)}")
    if isinstance(value, float):
        if not math.isfinite(value):
            return Answer(None, f"driver reported {value}")
        return Answer(None, "driver gave a fraction where whole numbers belong")
    if value < 0:
        return Answer(None, f"driver reported {value}" if value >= -_BLANK_64 else NO_VALUE)
    return Answer(None, NO_VALUE)


def _article(kind: str) -> str:
    return f"an {kind}" if kind[:1] in "aeiou" else f"a {kind}"


def _impossible(value: Any, words: Callable[[], str]) -> Answer[Any]:
    """Beyond what can be: reported as it was said, unless it says that there is no value."""
    if type(value) in (int, float) and 0 <= value < _BLANK_32:
        return Answer(None, f"driver reported {words()}")
    return _no_number(value)


def count(value: int) -> Answer[int]:
    """A 64-bit number of anything, counters and bytes included."""
    if type(value) is int and 0 <= value < _BLANK_64:
        return Answer(value)
    return _no_number(value)


def word(value: int) -> Answer[int]:
    """A 32-bit number of anything."""
    if type(value) is int and 0 <= value < _BLANK_32:
        return Answer(value)
    return _no_number(value)


def scaled(factor: float) -> Callable[[Any], Answer[float]]:
    """A 32-bit number, whole or not, times ``factor``."""

    def rule(value: Any) -> Answer[float]:
        if type(value) in (int, float) and 0 <= value < _BLANK_32:
            return Answer(value * factor)
        return _no_number(value)

    return rule


def multiple(factor: int) -> Callable[[int], Answer[int]]:
    """A 64-bit whole number times ``factor``, where that too has room in 64 bits."""
    highest = _BLANK_64 // factor

    def rule(value: int) -> Answer[int]:
        if type(value) is int and 0 <= value < highest:
            return Answer(value * factor)
        return _no_number(value)

    return rule


def thousandths(value: int) -> Answer[float]:
    """A 64-bit number of milli-units."""
    if type(value) is int and 0 <= value < _BLANK_64:
        return Answer(value / 1000)
    return _no_number(value)


def up_to(highest: int, *, lowest: int = 0) -> Callable[[int], Answer[int]]:
    """A small number of which higher ones mean "unknown", and lower ones nothing."""

    def rule(value: int) -> Answer[int]:
        if type(value) is int and lowest <= value <= highest:
            return Answer(value)
        if type(value) is int and 0 <= value < lowest:
            return Answer(None, f"driver reported {value}")
        return _no_number(value)

    return rule


def ratio(percent: float) -> Answer[float]:
    """Per cent → ratio from 0 to 1. Measured shares may be a rounding above 100; more is no share."""
    kind = type(percent)
    if kind in (int, float):
        if 0 <= percent <= 100:
            return Answer(percent / 100)
        if kind is float and 100 < percent <= _PERCENT_ROUNDING:
            return Answer(1.0)
    return _impossible(percent, lambda: f"{percent:.6g} %")


def flag(value: int) -> Answer[bool]:
    """0 or 1."""
    if type(value) is int:
        return Answer(value == 1) if value in (0, 1) else Answer(None, f"driver reported {value}")
    return _no_number(value)


def celsius(value: int) -> Answer[float]:
    """A temperature that a running chip can have: 0 is what a sensor that is not there reports."""
    if type(value) is int and 0 < value <= _CELSIUS_IMPOSSIBLE:
        return Answer(float(value))
    return _impossible(value, lambda: f"{value} °C")


def hertz(megahertz: int) -> Answer[float]:
    """MHz → Hz of a clock that a chip can have; one of 0 is not read."""
    if type(megahertz) is int and 0 < megahertz <= _MEGAHERTZ_IMPOSSIBLE:
        return Answer(megahertz * 1e6)
    return _impossible(megahertz, lambda: f"{megahertz} MHz")


def watts(limit: float | None) -> Callable[[int], Answer[float]]:
    """Milliwatts → watts; 0, or over a multiple of ``limit`` (watts), is a slip of the sensor."""
    highest = _WATTS_IMPOSSIBLE if limit is None or limit <= 0 else limit * _WATTS_OVER_LIMIT

    def rule(milliwatts: int) -> Answer[float]:
        if type(milliwatts) is int and 0 < milliwatts / 1000 <= highest and milliwatts < _BLANK_32:
            return Answer(milliwatts / 1000)
        return _impossible(milliwatts, lambda: f"{milliwatts / 1000:.6g} W")

    return rule


def named(words: dict[int, str]) -> Callable[[int], Answer[str]]:
    """A number that stands for a word."""

    def rule(value: int) -> Answer[str]:
        return word(value).then(lambda number: Answer(words.get(number, f"unknown ({number})")))

    return rule


def total(value: int) -> Answer[int]:
    """A size in bytes of something that is there; so not 0."""
    if type(value) is int and value == 0:
        return Answer(None, "driver reported a size of 0")
    return count(value)


def part_of(whole: int | None) -> Callable[[int], Answer[int]]:
    """Bytes of ``whole`` bytes; without a whole a part means nothing."""

    def rule(value: int) -> Answer[int]:
        if whole is not None and type(value) is int and 0 <= value <= whole:
            return Answer(value)
        if type(value) is not int or not 0 <= value < _BLANK_64:
            return _no_number(value)
        if whole is None:
            return Answer(None, "driver reported no total")
        return Answer(None, "driver reported more used than there is")

    return rule


def text(value: str | bytes) -> Answer[str]:
    """A text that says something, and nothing that is not for reading."""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            return Answer(None, "driver gave text that is no UTF-8")
    if type(value) is not str:
        return Answer(None, f"driver gave no text but {_article(type(value).__name__)}")
    if not value or value in ("N/A", "[N/A]"):
        return Answer(None, NO_VALUE)
    if not value.isprintable() or len(value) > _LONGEST_TEXT:
        return Answer(None, "driver gave text that cannot be read")
    return Answer(value)
