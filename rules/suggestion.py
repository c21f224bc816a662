"""The name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable

_LIKE = 0.7
"""How alike two names must be, from 0 to 1: one slip of the finger, not another name."""

_BEGINNING = 4
"""A word of so many letters with which a name begins stands for it: its unit was left out."""


def suggestion(word: str, names: Iterable[str]) -> str:
    """A clause such as ``; did you mean HW201?``, or an empty string if nothing is near."""
    # Loaded for the first mistake, which most starts do not make.
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in names}
    begun = [name for name in by_lower if len(word) >= _BEGINNING and name.startswith(word.lower())]
    near = get_close_matches(word.lower(), by_lower, n=1, cutoff=_LIKE) or begun
    return f"; did you mean {by_lower[near[0]]}?" if near else ""
