"""What the rules found on either side."""

from __future__ import annotations

from typing import Literal

import msgspec

from ....rules.finding import SEVERITY_ORDER, Severity
from .side import FindingSide, Number, Side

_LONGER = 2.0
"""What was there before too comes and goes: a little more of it is no regression, the numbers tell that."""
Where = Literal["A", "B", "both"]


class FoundRow(msgspec.Struct, frozen=True, kw_only=True):
    """One rule that found something on either side."""

    id: str
    name: str
    severity: Severity
    """The worse of the two."""
    found_in: Where
    a_active_ratio: Number
    """Share of the span in which it counted; ``None``: it could not look."""
    b_active_ratio: Number
    subjects: tuple[str, ...]
    """In B, where it is there; else in A."""
    verdict: Literal["same", "better", "worse", "unknown"]
    reason: str = ""


def compared_findings(a: Side, b: Side, tolerance: float) -> tuple[FoundRow, ...]:
    """By rule, the worst first. New errors and warnings are regressions, and such as count for twice as long."""
    first = {each.id: each for each in a.findings}
    second = {each.id: each for each in b.findings}
    rows = [
        _row(first.get(rule), second.get(rule), rule, a, b, tolerance) for rule in first | second
    ]
    return tuple(sorted(rows, key=lambda each: (SEVERITY_ORDER[each.severity], each.id)))


def _row(
    first: FindingSide | None,
    second: FindingSide | None,
    rule: str,
    a: Side,
    b: Side,
    tolerance: float,
) -> FoundRow:
    shown = second or first
    assert shown is not None
    worst = min(filter(None, (first, second)), key=lambda each: SEVERITY_ORDER[each.severity])
    before, after = _ratio(first, rule, a), _ratio(second, rule, b)
    blind = a.why_not_evaluated(rule) if first is None else ""
    unseen = b.why_not_evaluated(rule) if second is None else ""
    return FoundRow(
        id=rule,
        name=shown.name,
        severity=worst.severity,
        found_in="both" if first and second else "A" if first else "B",
        a_active_ratio=before,
        b_active_ratio=after,
        subjects=shown.subjects,
        verdict=_verdict(before, after, worst.severity, first is None, tolerance),
        reason=f"A: {blind}" if blind else f"B: {unseen}" if unseen else "",
    )


def _ratio(found: FindingSide | None, rule: str, side: Side) -> Number:
    if found is not None:
        return found.active_ratio
    return None if side.why_not_evaluated(rule) else 0.0


def _verdict(
    before: Number, after: Number, severity: Severity, new: bool, tolerance: float
) -> Literal["same", "better", "worse", "unknown"]:
    if before is None or after is None:
        return "unknown"
    change = after - before
    if severity == "info":
        return "same"
    if (new and severity == "error") or (change > tolerance and after >= _LONGER * before):
        return "worse"
    return "better" if change < -tolerance else "same"
