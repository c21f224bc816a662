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


# Each rule looks first for the good value, which is nearly always there: some hundred are judged at
# each tick.


def _no_number(value: Any) -> Answer[Any]:
    if math.isfinite(value) and value < 0:
        return Answer(None, f"driver reported {value}")
    return Answer(None, NO_VALUE)


def _impossible(value: Any, words: str) -> Answer[Any]:
    """Beyond what can be: reported as it was said, unless it says that there is no value."""
    if 0 <= value < _BLANK_32:
        return Answer(None, f"driver reported {words}")
    return _no_number(value)


def count(value: int) -> Answer[int]:
    """A 64-bit number of anything, counters and bytes included."""
    return Answer(value) if 0 <= value < _BLANK_64 else _no_number(value)


def word(value: int) -> Answer[int]:
    """A 32-bit number of anything."""
    return Answer(value) if 0 <= value < _BLANK_32 else _no_number(value)


def scaled(factor: float) -> Callable[[Any], Answer[float]]:
    """A 32-bit number times ``factor``."""
    return lambda value: Answer(value * factor) if 0 <= value < _BLANK_32 else _no_number(value)


def multiple(factor: int) -> Callable[[int], Answer[int]]:
    """A 64-bit whole number times ``factor``."""
    return lambda value: Answer(value * factor) if 0 <= value < _BLANK_64 else _no_number(value)


def thousandths(value: int) -> Answer[float]:
    """A 64-bit number of milli-units."""
    return Answer(value / 1000) if 0 <= value < _BLANK_64 else _no_number(value)


def up_to(highest: int) -> Callable[[int], Answer[int]]:
    """A small number of which higher ones mean "unknown"."""
    return lambda value: Answer(value) if 0 <= value <= highest else _no_number(value)


def ratio(percent: float) -> Answer[float]:
    """Per cent → ratio from 0 to 1. Measured shares may be a rounding above 100; more is no share."""
    if 0 <= percent <= 100:
        return Answer(percent / 100)
    if not isinstance(percent, int) and 100 < percent <= _PERCENT_ROUNDING:
        return Answer(1.0)
    return _impossible(percent, f"{percent:.6g} %")


def flag(value: int) -> Answer[bool]:
    """0 or 1."""
    return Answer(value == 1) if value in (0, 1) else Answer(None, f"driver reported {value}")


def celsius(value: int) -> Answer[float]:
    """A temperature that a running chip can have."""
    if 0 <= value <= _CELSIUS_IMPOSSIBLE:
        return Answer(float(value))
    return _impossible(value, f"{value} °C")


def hertz(megahertz: int) -> Answer[float]:
    """MHz → Hz of a clock that a chip can have."""
    if 0 <= megahertz <= _MEGAHERTZ_IMPOSSIBLE:
        return Answer(megahertz * 1e6)
    return _impossible(megahertz, f"{megahertz} MHz")


def watts(limit: float | None) -> Callable[[int], Answer[float]]:
    """Milliwatts → watts; over a multiple of ``limit`` (watts) it is a slip of the sensor."""
    highest = _WATTS_IMPOSSIBLE if limit is None or limit <= 0 else limit * _WATTS_OVER_LIMIT

    def rule(milliwatts: int) -> Answer[float]:
        if 0 <= milliwatts / 1000 <= highest and milliwatts < _BLANK_32:
            return Answer(milliwatts / 1000)
        return _impossible(milliwatts, f"{milliwatts / 1000:.6g} W")

    return rule


def named(words: dict[int, str]) -> Callable[[int], Answer[str]]:
    """A number that stands for a word."""
    return lambda value: Answer(words.get(value, f"unknown ({value})"))


def total(value: int) -> Answer[int]:
    """A size in bytes of something that is there; so not 0."""
    return count(value) if value else Answer(None, "driver reported a size of 0")


def part_of(whole: int | None) -> Callable[[int], Answer[int]]:
    """Bytes of ``whole`` bytes; without a whole a part means nothing."""

    def rule(value: int) -> Answer[int]:
        if whole is not None and 0 <= value <= whole:
            return Answer(value)
        if not 0 <= value < _BLANK_64:
            return _no_number(value)
        if whole is None:
            return Answer(None, "driver reported no total")
        return Answer(None, "driver reported more used than there is")

    return rule


def text(value: str) -> Answer[str]:
    """A text that says something."""
    return Answer(value) if value and value not in ("N/A", "[N/A]") else Answer(None, NO_VALUE)
