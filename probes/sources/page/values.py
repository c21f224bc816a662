"""Values off a state page, which anybody may have written: each is of the right type and size, or ``None``."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, cast

MOST_CHARACTERS = 200
MOST_WHOLE = 2**53
"""Beyond it no counter or size is believed; up to it every reader of JSON has it exactly."""
_MOST_REAL = 1e18
_MOST_DIGITS = 20


def text(value: object, most: int = MOST_CHARACTERS) -> str | None:
    """A text that may be shown in a terminal; what is not printable in it is replaced."""
    if not isinstance(value, str) or not value:
        return None
    value = value[:most]
    if value.isprintable():
        return value
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in value)


def whole(value: object, most: int = MOST_WHOLE) -> int | None:
    """A count, not negative."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most:
        return value
    return None


def real(value: object, most: float = _MOST_REAL) -> float | None:
    """A finite number, not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # An int may be too large for a float, so it is compared before it is turned into one.
    return float(value) if 0 <= value <= most else None


def signed(value: object) -> float | None:
    """A finite number."""
    if not isinstance(value, float) or not isfinite(value) or abs(value) > _MOST_REAL:
        return None
    return value


def flag(value: object) -> bool | None:
    """Yes or no."""
    return value if isinstance(value, bool) else None


def wholes(value: object, most: int) -> tuple[int, ...]:
    """The counts in a list; no more than ``most`` of them."""
    found = [whole(each) for each in items(value, most)]
    return tuple(each for each in found if each is not None)


def items(value: object, most: int) -> list[object]:
    """The first of a list; none where it is no list."""
    return cast(list[object], value)[:most] if isinstance(value, list) else []


def entries(value: object) -> dict[str, Any]:
    """A JSON object; an empty one where it is none."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def json_object(payload: bytes) -> dict[str, Any]:
    """The object of a payload; empty where it is none. Numbers that JSON has not are ``None`` in it."""
    try:
        return entries(json.loads(payload, parse_int=_int, parse_constant=_nothing))
    except (ValueError, RecursionError):
        return {}


def _int(digits: str) -> int | None:
    return int(digits) if len(digits) <= _MOST_DIGITS else None


def _nothing(_name: str) -> None:
    return None
