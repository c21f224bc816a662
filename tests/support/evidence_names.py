"""What every piece of evidence keeps to, in each scene that a rule is played in: a name with its unit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gputop.probes.model.signal_types import UNITS
from gputop.rules.finding import Evidence

COUNTED = frozenset(
    [
        "count",
        "cores",
        "cycles",
        "errors",
        "lanes",
        "links",
        "moves",
        "per_minute",
        "processes",
        "rows",
        "samples",
    ]
)
"""Units that are spelled out, beside those that end names."""
NAME = re.compile(r"[a-z][a-z0-9_]*")


def wrong_with(name: str, unit: str, *, words: bool = False) -> Iterator[str]:
    """What breaks the rule for names of evidence."""
    if not NAME.fullmatch(name):
        yield f"{name!r} is no name"
    if unit and unit not in (*UNITS, *COUNTED):
        yield f"{name}: nobody knows the unit {unit!r}"
    if unit in (*UNITS, "per_minute") and not name.endswith(f"_{unit}"):
        yield f"{name} does not end in its unit {unit}"
    if not unit and not words and any(name.endswith(f"_{each}") for each in UNITS):
        yield f"{name} ends in a unit that it has not got"


def wrong_evidence(evidence: Iterable[Evidence]) -> list[str]:
    """As `wrong_with`, of what rules have found; and numbers that nobody knows how to read."""
    found: list[str] = []
    for each in evidence:
        is_number = isinstance(each.value, int | float)
        found += wrong_with(each.signal, each.unit, words=not is_number)
        if is_number and not each.unit:
            found.append(f"{each.signal} is a number without a unit")
    return found
