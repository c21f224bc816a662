"""Rates from counters that may be missing, repeated, reset or absurd."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model.reading import Missing, Reading


def rate(current: float | None, previous: float | None, seconds: float) -> float | None:
    """Growth of a counter per second; ``None`` where it cannot be reported.

    A counter that went backwards was reset in between (driver reloaded, process replaced): what it
    did before the reset is unknown, so there is no rate, not a guess.
    """
    if current is None or previous is None or seconds <= 0 or current < previous:
        return None
    return (current - previous) / seconds


def share(current: float | None, previous: float | None, whole: float) -> float | None:
    """Growth of a counter of time as a ratio of ``whole``, held to 0..1 against jitter."""
    grown = rate(current, previous, whole)
    return None if grown is None else min(1.0, grown)


def counter_rates(
    current: Reading, previous: Reading | None, counters: Mapping[str, str], missing: Missing
) -> dict[str, Any]:
    """The rates of several counters of one reading.

    Args:
        current: the reading now.
        previous: the frame made of the reading before; when it is the same reading sent again, its
            rates are carried on, for they are still the newest that are known.
        counters: name of the rate → name of the counter.
        missing: takes up a reason for each rate that cannot be reported.
    """
    if previous is not None and previous.monotonic_seconds == current.monotonic_seconds:
        carried = {name: getattr(previous, name) for name in counters}
        missing.update(
            {name: previous.missing[name] for name in counters if name in previous.missing}
        )
        return carried
    rates: dict[str, Any] = {}
    seconds = current.monotonic_seconds - previous.monotonic_seconds if previous else 0.0
    for name, counter in counters.items():
        now = getattr(current, counter)
        before = getattr(previous, counter) if previous is not None else None
        rates[name] = rate(now, before, seconds)
        if rates[name] is None:
            missing[name] = _why(current, counter, now, before)
    return rates


def _why(current: Reading, counter: str, now: float | None, before: float | None) -> str:
    if now is None:
        return current.missing.get(counter, "not read yet")
    if before is None:
        return "needs a second reading"
    return "its counter was reset"
