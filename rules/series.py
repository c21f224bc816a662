"""One signal of one subject over time, as rules and pictures look back on it."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Callable

_STILL_SECONDS = 12.0
"""A value stands for the time until the next one, which comes after 10 s at most."""


Blocks = dict[tuple[int, int], float | None]
"""Size of a block and number of its first value → its mean."""


class Series:
    """One signal of one subject over time. A moment at which it was missing is ``None``."""

    def __init__(
        self,
        times: array[float],
        values: array[float],
        first: int = 0,
        blocks: Blocks | None = None,
        before: int = 0,
    ) -> None:
        """
        Args:
            times: of all moments, monotonic seconds.
            values: NaN where missing; missing too at all moments after the last of them.
            first: number of the oldest moment, counting those that are forgotten.
            blocks: takes up the means of whole blocks, which do not change any more.
            before: so many moments were before the first value.
        """
        self._times = times
        self._values = values
        self._first = first
        self._blocks = {} if blocks is None else blocks
        self._before = before
        self._means: dict[tuple[float, float], float | None] = {}

    def blocks(self, size: int, count: int) -> list[float | None]:
        """Means of ``size`` values each, oldest first, cut so that they stay together while values come.

        Args:
            size: of each block; the newest may have fewer.
            count: of blocks, fewer where there are no more.
        """
        known, oldest = self._blocks, self._first
        end = oldest + len(self._times)
        start = (end - 1) // size * size
        found: list[float | None] = []
        while end > oldest and len(found) < count:
            key = (size, start)
            if key in known:
                found.append(known[key])
            else:
                mean = _mean(self._between(start - oldest, end - oldest))
                found.append(mean)
                if end - start == size and start >= oldest:
                    known[key] = mean
            start, end = start - size, start
        found.reverse()
        return found

    def cells(
        self, seconds: float, count: int, join: Callable[[list[float]], float]
    ) -> list[float | None]:
        """The past cut into pieces of equal time that stay where they are while time goes on.

        Args:
            seconds: of each piece.
            count: of pieces, oldest first; the newest one is still growing.
            join: makes one value of those in a piece.
        """
        if not self._times:
            return [None] * count
        first = int(self._times[-1] // seconds) - count + 1
        pieces: list[list[float]] = [[] for _ in range(count)]
        begin = bisect_left(self._times, first * seconds - _STILL_SECONDS)
        begin = max(begin, self._before)
        later = [*self._times[begin + 1 :], self._times[-1]]
        for time, next_time, value in zip(
            self._times[begin:], later, self._between(begin), strict=False
        ):
            if not math.isnan(value):
                start = int(time // seconds) - first
                stop = int(min(next_time, time + _STILL_SECONDS) // seconds) - first
                for at in range(max(0, start), max(start + 1, stop)):
                    pieces[at].append(value)
        return [join(piece) if piece else None for piece in pieces]

    def window(self, seconds: float) -> list[float]:
        """The values, missing ones left out, of the last ``seconds`` before the newest moment."""
        if not self._times:
            return []
        return _present(self._between(self._start(seconds)))

    def grown(self, seconds: float) -> float | None:
        """How much it has grown over the last ``seconds``; ``None`` with fewer than two values."""
        values = self.window(seconds)
        return values[-1] - values[0] if len(values) >= 2 else None

    def mean(self, seconds: float) -> float | None:
        """Mean over the last ``seconds``; ``None`` where nothing was read in them."""
        if not self._times:
            return None
        key = (seconds, self._times[-1])
        if key not in self._means:
            self._means[key] = self._mean(seconds)
        return self._means[key]

    def covered(self, seconds: float) -> float:
        """How much of the last ``seconds`` lies between the oldest and the newest value in them."""
        if not self._times:
            return 0.0
        start = max(self._start(seconds), self._before)
        present = [
            time
            for time, value in zip(self._times[start:], self._between(start), strict=False)
            if not math.isnan(value)
        ]
        return present[-1] - present[0] if present else 0.0

    def _mean(self, seconds: float) -> float | None:
        return _mean(self._between(self._start(seconds)))

    def _start(self, seconds: float) -> int:
        """Place of the first moment that is no older than so many seconds."""
        return bisect_left(self._times, self._times[-1] - seconds)

    def _between(self, start: int, end: int | None = None) -> array[float]:
        """The values at the moments of these places, as far as there are any."""
        before = self._before
        return self._values[max(0, start - before) : None if end is None else max(0, end - before)]


def _mean(values: array[float]) -> float | None:
    total = sum(values)
    if not math.isnan(total):
        return total / len(values) if values else None
    present = [value for value in values if not math.isnan(value)]
    return sum(present) / len(present) if present else None


def _present(values: array[float]) -> list[float]:
    """Without those that are missing."""
    found = values.tolist()
    # Mostly none is missing, or all are; a sum is the fastest way to see the first.
    return [value for value in found if not math.isnan(value)] if math.isnan(sum(found)) else found
