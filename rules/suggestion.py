"""The name that was probably meant."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LIKE = 0.7
"""How alike two names must be, from 0 to 1: one slip of the finger, not another name."""

_LOOK_ALIKE = str.maketrans("loi", "101")
"""Letters that are read as digits, and the other way round."""

_NUMBERED = re.compile(r"[a-z0-9]*[0-9]{2}")
"""Numbers that are near each other are of different things: see _slipped."""

_LONGEST = 100
"""No name is longer; comparing takes time."""

_BEGINNING = 4
"""A word of so many letters with which a name begins stands for it: its unit was left out."""


def suggestion(word: str, names: Iterable[str]) -> str:
    """A clause such as ``; did you mean HW201?``, or an empty string if nothing is near."""
    # Loaded for the first mistake, which most starts do not make.
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in names}
    lower = word.lower()[:_LONGEST]
    same = [name for name in by_lower if _digits(name) == _digits(lower)]
    close = get_close_matches(lower, by_lower, n=3, cutoff=_LIKE)
    if _NUMBERED.fullmatch(_digits(lower)):
        close = [name for name in close if _slipped(_digits(lower), _digits(name))]
    begun = [name for name in by_lower if len(lower) >= _BEGINNING and name.startswith(lower)]
    near = same or close or begun
    return f"; did you mean {by_lower[near[0]]}?" if near else ""


def _digits(name: str) -> str:
    return name.translate(_LOOK_ALIKE)


def _slipped(word: str, name: str) -> bool:
    """Digits changed places, or one is missing or twice: another digit is another number."""
    return len(word) != len(name) or sorted(word) == sorted(name)
