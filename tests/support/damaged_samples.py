"""Samples with any numbers and types in any place."""

from __future__ import annotations

import math
import random
from typing import Any

import msgspec

WHOLE = (-1, 0, 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, -(2**63))
FRACTIONS = (1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan, -1.5, 0.0)
OTHERS: tuple[Any, ...] = (
    None,
    True,
    "",
    "x" * 5000,
    "\x1b[31m",
    [],
    {},
    {"a": 1},
    b"\xff\xfe",
    [1, 2],
)


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Of all values in a decoded message."""
    found = [place] if place else []
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in pairs if isinstance(value, (dict, list)) else ():
        found += places(each, (*place, key)) if isinstance(each, (dict, list)) else [(*place, key)]
    return found


def made_ill(tree: Any, found: list[tuple[Any, ...]], chance: random.Random) -> bytes:
    """The message with one to three of these replaced."""
    made = msgspec.msgpack.decode(msgspec.msgpack.encode(tree))
    for *folder, key in chance.sample(found, chance.choice((1, 1, 3))):
        at = made
        for each in folder:
            at = _inside(at, each)
        if not isinstance(at, (dict, list)) or (isinstance(at, list) and key >= len(at)):
            continue
        at[key] = _another(at[key] if isinstance(at, list) else at.get(key), chance)
    return msgspec.msgpack.encode(made)


def _inside(at: Any, key: Any) -> Any:
    """``None`` where another value has been put there meanwhile."""
    if isinstance(at, dict):
        return at.get(key)
    return at[key] if isinstance(at, list) and key < len(at) else None


def _another(value: Any, chance: random.Random) -> Any:
    """Mostly of the same type, for what is refused is refused soon."""
    if chance.random() < 0.85 and type(value) in (int, float):
        return chance.choice(WHOLE if type(value) is int else (*WHOLE, *FRACTIONS))
    return chance.choice((*WHOLE, *FRACTIONS, *OTHERS))
