"""How soon something that is used up will be gone, if it goes on as in the last minutes."""

from __future__ import annotations

import itertools

from .series import Series

TREND_SECONDS = 300.0
_LEAST_SECONDS = 60.0
"""Less tells of no trend."""


def growth_per_second(
    series: Series, seconds: float = TREND_SECONDS, *, falls: bool = False
) -> float | None:
    """Mean growth over the last ``seconds``, or as much of them as was seen; ``None``: too short to say.

    What went the other way in between is no trend: then it is 0.

    Args:
        series: its past.
        seconds: how far to look back.
        falls: how fast it gets less is wanted instead.
    """
    covered = series.covered(seconds)
    if covered < _LEAST_SECONDS:
        return None
    values = series.window(seconds)
    quarter = max(1, len(values) // 4)
    parts = [values[at : at + quarter] for at in range(0, 4 * quarter, quarter)]
    sign = -1.0 if falls else 1.0
    means = [sign * sum(part) / len(part) for part in parts if part]
    if any(later < earlier for earlier, later in itertools.pairwise(means)):
        return 0.0
    return sign * (values[-1] - values[0]) / covered


def seconds_left(room: float, per_second: float | None) -> float | None:
    """Until ``room`` is used up at that rate; ``None`` where nothing grows, or nobody knows."""
    return room / per_second if per_second is not None and per_second > 0 else None
