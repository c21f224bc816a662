"""Counts with their uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass

Z_95 = 1.959963984540054


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    hits: int
    of: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, of 95 %."""
        if self.of == 0:
            return (0.0, 1.0)
        share, square = self.hits / self.of, Z_95**2
        middle = share + square / (2 * self.of)
        half = Z_95 * math.sqrt(share * (1 - share) / self.of + square / (4 * self.of**2))
        width = 1 + square / self.of
        return (max(0.0, (middle - half) / width), min(1.0, (middle + half) / width))

    def __str__(self) -> str:
        low, high = self.interval
        rate = f"{self.hits / self.of:.0%}" if self.of else "–"
        return f"{self.hits} of {self.of} = {rate} (95 %: {low:.0%} to {high:.0%})"
