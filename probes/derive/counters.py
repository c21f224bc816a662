"""How far a counter of limited width has come: what goes round, what stops when full, what was reset."""

from __future__ import annotations

from typing import NamedTuple

_SLACK = 1.25
"""A counter and the clock are not read at the very same moment."""
UNLIMITED = 64
"""Bits of a counter that neither fills up nor goes round in the life of a node."""


class Growth(NamedTuple):
    """How much a counter has grown, or why that cannot be reported."""

    amount: int | None
    reason: str = ""


def growth(now: int, before: int, bits: int = UNLIMITED, most: float | None = None) -> Growth:
    """From ``before`` to ``now``.

    Args:
        now: the counter's value.
        before: its value at an earlier moment.
        bits: its width. Narrow ones may stop at their highest value or go round: which, depends on
            the driver, so both are allowed for.
        most: what it can have grown at most. A counter that can go round more than once in that time
            tells nothing; where this is not known, one that went backwards was reset.
    """
    if bits >= UNLIMITED:
        return Growth(now - before) if now >= before else Growth(None, "its counter was reset")
    turn = 1 << bits
    if now == turn - 1:
        return Growth(None, f"its {bits}-bit counter is full")
    if most is not None and most * _SLACK >= turn:
        return Growth(None, f"its {bits}-bit counter goes round between two readings")
    if now >= before:
        return Growth(now - before)
    round_once = now + turn - before
    if before < turn and most is not None and round_once <= most * _SLACK:
        return Growth(round_once)
    return Growth(None, "its counter was reset")


class Since(NamedTuple):
    """What a counter of events has grown by since this monitor first saw it."""

    amount: int
    full: bool = False
    """It has stopped: the amount is the least that it can be."""


def since(now: int, before: int, so_far: int, bits: int) -> Since:
    """Go on counting from ``so_far``.

    Events are counted that have certainly been: of a counter that began anew, those since then. One
    that falls from its upper half to its lower half went round, where it is wide enough to do so.
    """
    full = bits < UNLIMITED and now == (1 << bits) - 1
    if now >= before:
        return Since(so_far + now - before, full)
    half = 1 << (bits - 1)
    went_round = 32 <= bits < UNLIMITED and half <= before < 2 * half and now < half
    return Since(so_far + (now + 2 * half - before if went_round else now), full)
