"""One number of both sides beside each other, and whether its change is a regression."""

from __future__ import annotations

from typing import Literal

import msgspec

from .side import Number

Better = Literal["more", "less", ""]
"""Which way is good; empty: neither, the number is only told."""
Verdict = Literal["same", "different", "better", "worse", "unknown"]
ALIKE = 1e-9


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One number, of the one side and of the other."""

    whose: str
    """Of whom: ``train.py``, ``GPU 3``, ``gpu0 pcie``."""
    group: str = ""
    """Which of several of a kind that is one: ``GPU``, ``nvlink``."""
    signal: str
    """Its name for programs, with the unit at its end."""
    label: str
    """And for people."""
    unit: str
    a_value: Number
    b_value: Number
    change_ratio: Number = None
    """By how much B is more than A, as a part of A; of shares (unit ``ratio``) the difference itself."""
    judged: bool = False
    """Whether it counts for the exit code."""
    verdict: Verdict = "unknown"
    reason: str = ""
    """Why it is unknown."""


def row(
    whose: str,
    signal: str,
    label: str,
    unit: str,
    a: Number,
    b: Number,
    *,
    tolerance: float,
    better: Better = "",
    reason: str = "",
    group: str = "",
) -> Row:
    """The number with its change.

    Args:
        whose: of whom it is.
        signal: its name for programs.
        label: and for people.
        unit: in which it is.
        a: of the one side.
        b: of the other.
        tolerance: a change that is not larger is none.
        better: which way is good, where one is.
        reason: why it must not be judged; else empty.
        group: its subject's kind, where there are several.
    """
    change = _change(a, b, unit)
    verdict: Verdict = "unknown"
    if change is not None and not reason:
        verdict = _verdict(change, tolerance, better)
    elif not reason:
        reason = _unknown(a, b)
    return Row(
        whose=whose,
        group=group,
        signal=signal,
        label=label,
        unit=unit,
        a_value=a,
        b_value=b,
        change_ratio=change,
        judged=bool(better),
        verdict=verdict,
        reason=reason,
    )


def _change(a: Number, b: Number, unit: str) -> Number:
    if a is None or b is None:
        return None
    if unit == "ratio":
        return b - a
    if a == 0:
        return 0.0 if b == 0 else None
    return b / a - 1.0


def _verdict(change: float, tolerance: float, better: Better) -> Verdict:
    if abs(change) <= tolerance + ALIKE:
        return "same"
    if not better:
        return "different"
    return "better" if (change > 0) == (better == "more") else "worse"


def _unknown(a: Number, b: Number) -> str:
    if a is None and b is None:
        return "not known of either"
    if a is None or b is None:
        return f"not known of {'A' if a is None else 'B'}"
    return "A has none"
