"""Statistics over the recent steps of one rank."""

from __future__ import annotations

import msgspec


class StepFigures(msgspec.Struct, frozen=True, kw_only=True):
    """``None`` wherever no step tells."""

    p50_seconds: float | None = None
    p99_seconds: float | None = None
    spread_ratio: float | None = None
    """Half the distance from the 10th to the 90th percentile, over the median."""
    phases: dict[str, float] = {}
    """Shares over the recent steps."""
    host_seconds: float | None = None
    """Mean of the recent steps whose GPU time is known."""
    gpu_seconds: float | None = None
    """Mean time of the same steps in which the GPU worked on the default stream."""
    run_ahead_seconds: float | None = None
    """Median over the recent steps."""
    seconds: float = 0.0
    """Sum over the recent steps that tell their samples or tokens, as the next two."""
    samples: float | None = None
    tokens: float | None = None
    longest_seconds: float = 0.0
    """Of the recent steps."""
    throughput_spread_ratio: float | None = None
    loss: float | None = None


NO_FIGURES = StepFigures()
