"""What a monitor says that is not run: one sentence, the same wherever it is said."""

from __future__ import annotations

import os

from ..model.starvation import Starvation


def load_and_cores() -> tuple[float | None, int]:
    """Mean of the last minute, where it can be read, and the cores that this process may use."""
    try:
        load: float | None = os.getloadavg()[0]
    except OSError:
        load = None
    return load, len(os.sched_getaffinity(0))


def starved_sentence(starvation: Starvation | None = None) -> str:
    """Why little or nothing was seen.

    Args:
        starvation: as a collector tells it; ``None``: of this process, now.
    """
    if starvation is None:
        load, cores = load_and_cores()
        starvation = Starvation(seconds=1.0, load=load, cores=cores)
    if starvation.stopped_seconds > starvation.seconds:
        return f"this monitor was stopped for {starvation.stopped_seconds:.0f} s"
    if starvation.load is None or starvation.cores is None:
        return "this monitor gets no CPU"
    count = f"{starvation.cores} core" + ("" if starvation.cores == 1 else "s")
    return f"this monitor gets no CPU (load {starvation.load:.0f} on {count})"
