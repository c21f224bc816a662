"""How numbers read: the one place where base units become the units that people say.

Every function takes ``None`` for a value that is not there and answers with a dash, never raises, and
keeps to its width where it has one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from .glyphs import DASH

GIB = 1024.0**3
_SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BINARY = ((1024.0**4, "TiB"), (GIB, "GiB"), (1024.0**2, "MiB"), (1024.0, "KiB"))
_DECIMAL = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
_MOST_SECONDS = 99.5
"""From here on they would round to three digits."""


def number(value: float | None, width: int, decimals: int = 0) -> str:
    """A number at the right of ``width`` cells, with fewer decimals where it would not fit."""
    if value is None or not math.isfinite(value):
        return DASH.rjust(width)[:width]
    text = f"{value:{width}.{decimals}f}"
    if len(text) == width and value >= 0:
        return text
    for places in range(decimals, -1, -1):
        text = f"{value:.{places}f}"
        if float(text) == 0.0:
            text = text.removeprefix("-")
        if len(text) <= width:
            return text.rjust(width)
    return _scaled(value, width)


def percent(ratio: float | None, width: int = 3) -> str:
    """A ratio in whole percent, without the sign."""
    return number(None if ratio is None else ratio * 100.0, width)


def scaled(value: float | None, unit: float, width: int, decimals: int = 1) -> str:
    """A value in a larger unit, such as bytes in GiB."""
    return number(None if value is None else value / unit, width, decimals)


def rate(bytes_per_second: float | None, width: int = 5) -> str:
    """Bytes a second in GB/s; three digits are enough."""
    if bytes_per_second is None:
        return number(None, width)
    return scaled(bytes_per_second, 1e9, width, 1 if abs(bytes_per_second) < 99.95e9 else 0)


def used_of(used: float | None, total: float | None, unit: float, each: int, decimals: int) -> str:
    """``71.2/79.6``, both parts in a fixed place."""
    return f"{scaled(used, unit, each, decimals)}/{scaled(total, unit, each, decimals).strip():<{each}}"


def binary(count: float | None) -> str:
    """Bytes of memory: ``71.2 GiB``."""
    return _with_unit(count, _BINARY, "B")


def decimal(count: float | None) -> str:
    """Bytes of traffic: ``1.5 GB``."""
    return _with_unit(count, _DECIMAL, "B")


def duration(seconds: float | None) -> str:
    """``40 ms``, ``4.1 s``, ``41 s``, ``6 min``, ``2 h 05``, ``3 d 4 h``."""
    if seconds is None or not math.isfinite(seconds):
        return DASH
    seconds = max(0.0, seconds)
    if seconds < 0.0005:
        return "0 s"
    if seconds < 0.0995:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} s"
    if seconds < HOUR:
        return f"{seconds // MINUTE:.0f} min"
    if seconds < DAY:
        return f"{seconds // HOUR:.0f} h {seconds % HOUR // MINUTE:02.0f}"
    return f"{seconds // DAY:.0f} d {seconds % DAY // HOUR:.0f} h"


def precise(seconds: float | None) -> str:
    """Step times, with three digits: ``2.32 s``, ``132 ms``, ``1.90 ms``."""
    if seconds is None or not math.isfinite(seconds):
        return DASH
    if seconds <= 0.0:
        return "0 s"
    if seconds >= 0.9995:
        return f"{seconds:.2f} s" if seconds < 99.995 else f"{seconds:.0f} s"
    return f"{seconds * 1e3:.0f} ms" if seconds >= 0.00995 else f"{seconds * 1e3:.2f} ms"


def short_duration(seconds: float | None) -> str:
    """``4s``, ``6m``, ``2h``, ``3d``, ``99y`` at most: three characters."""
    if seconds is None or not math.isfinite(seconds):
        return DASH
    for size, letter in ((DAY * 365, "y"), (DAY, "d"), (HOUR, "h"), (MINUTE, "m")):
        if seconds >= (_MOST_SECONDS if letter == "m" else size):
            return f"{min(99.0, seconds // size):.0f}{letter}"
    return f"{max(0.0, seconds):.0f}s"


def grouped(count: int | None) -> str:
    """``18 412``."""
    return DASH if count is None else f"{count:,}".replace(",", " ")


def compact(value: float | None, width: int = 5) -> str:
    """A large number with three digits at the right of ``width`` cells: ``84.8k``, ``1.20M``, `` 13.9``."""
    if value is None or not math.isfinite(value):
        return DASH.rjust(width)
    size, letter = next(
        ((size, letter) for size, letter in _SCALES if abs(value) >= size * 0.9995), (1.0, "")
    )
    scaled_value = value / size
    decimals = 2 if abs(scaled_value) < 9.995 else 1 if abs(scaled_value) < 99.95 else 0
    return f"{scaled_value:.{decimals}f}{letter}".rjust(width)[:width]


def counted(count: int, thing: str) -> str:
    """``1 rank``, ``8 ranks``."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def clock(time_seconds: float | None, *, seconds: bool = True) -> str:
    """Unix time as local time of day."""
    if time_seconds is None or not math.isfinite(time_seconds):
        return DASH
    try:
        moment = time.localtime(time_seconds)
    except (OverflowError, ValueError, OSError):
        return DASH
    return time.strftime("%H:%M:%S" if seconds else "%H:%M", moment)


_ONE = {
    "processes": "process",
    "errors": "error",
    "links": "link",
    "moves": "move",
    "lanes": "lane",
    "samples": "sample",
    "cycles": "cycle",
}
"""Units that are counted, and what one of them is called."""


def quantity(value: float | str | None, unit: str) -> str:
    """A value in the base unit of that name, as people say it: ``412 ms``, ``1410 MHz``, ``86 °C``."""
    if isinstance(value, str):
        return value
    if value is None or not math.isfinite(value):
        return DASH
    convert = _QUANTITIES.get(unit)
    if convert is not None:
        return convert(value)
    text = f"{value:.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.2g}"
    words = _ONE.get(unit, unit) if text == "1" else unit
    return f"{text} {words.replace('_', ' ')}".rstrip()


def _scaled(value: float, width: int) -> str:
    for size, letter in _SCALES:
        if abs(value) >= size * 0.95:
            text = f"{value / size:.0f}{letter}"
            return text.rjust(width) if len(text) <= width else "+" * width
    return "+" * width


def _with_unit(count: float | None, units: tuple[tuple[float, str], ...], base: str) -> str:
    if count is None or not math.isfinite(count):
        return DASH
    for size, name in units:
        if abs(count) >= size * 0.9995:
            scaled_value = count / size
            return (
                f"{scaled_value:.1f} {name}"
                if abs(scaled_value) < 99.95
                else f"{scaled_value:.0f} {name}"
            )
    return f"{count:.0f} {base}"


def _percent_with_sign(value: float) -> str:
    return f"{value * 100:.0f} %" if abs(value) >= 0.0995 or value == 0 else f"{value * 100:.1f} %"


_QUANTITIES: dict[str, Callable[[float], str]] = {
    "ratio": _percent_with_sign,
    "bytes": binary,
    "bytes_per_second": lambda value: f"{decimal(value)}/s",
    "seconds": duration,
    "watts": lambda value: f"{value:.0f} W",
    "joules": lambda value: f"{value / 3.6e6:.1f} kWh",
    "hertz": lambda value: f"{value / 1e6:.0f} MHz",
    "celsius": lambda value: f"{value:.0f} °C",
    "cores": lambda value: f"{value:.1f} cores",
    "count": lambda value: f"{value:.0f}",
    "rotations_per_second": lambda value: f"{value * 60:.0f} rpm",
    "per_second": lambda value: f"{value:.1f}/s",
}
