"""The name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable

_LIKE = 0.7
"""How alike two names must be, from 0 to 1: one slip of the finger, not another name."""


def suggestion(word: str, names: Iterable[str]) -> str:
    """A clause such as ``; did you mean HW201?``, or an empty string if nothing is near."""
    from difflib import (
        get_close_matches,  # loaded for the first mistake, which most starts do not make
    )

    by_lower = {name.lower(): name for name in names}
    near = get_close_matches(word.lower(), by_lower, n=1, cutoff=_LIKE)
    return f"; did you mean {by_lower[near[0]]}?" if near else ""
