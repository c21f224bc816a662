"""Means over a span: of what was had, weighted by time or by work; nothing makes zero of what was not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable


class Means:
    """Feed it values with their weights."""

    def __init__(self) -> None:
        self._sums: dict[Hashable, float] = defaultdict(float)
        self._weights: dict[Hashable, float] = defaultdict(float)
        self._most: dict[Hashable, float] = {}

    def add(self, name: Hashable, value: float | None, weight: float) -> None:
        """One more value; ``None`` is left out."""
        if value is None or weight <= 0:
            return
        self._sums[name] += value * weight
        self._weights[name] += weight
        self._most[name] = max(value, self._most.get(name, value))

    def of(self, name: Hashable) -> float | None:
        """The mean; ``None`` where no value came."""
        weight = self._weights.get(name)
        return self._sums[name] / weight if weight else None

    def most(self, name: Hashable) -> float | None:
        """The highest."""
        return self._most.get(name)
