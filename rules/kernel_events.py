"""Lines of the kernel log that are recent enough to count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..probes.model.frame import Frame
from ..probes.model.kernel_readings import KernelEventReading
from .finding import Evidence
from .rule import Threshold

AGE = Threshold(600.0, "seconds", "ours, as of Xids: what is older must not look current")
_SHOWN = 3


def recent(frame: Frame, kinds: Iterable[str], age_seconds: float) -> list[KernelEventReading]:
    """Of these kinds, the oldest first."""
    wanted = frozenset(kinds)
    return [
        event
        for event in frame.kernel_events
        if event.kind in wanted and frame.time_seconds - event.time_seconds < age_seconds
    ]


def lines_of(events: Sequence[KernelEventReading]) -> tuple[Evidence, ...]:
    """How many, and the newest of them as they stand there."""
    return (
        Evidence(signal="kernel_log_lines", value=float(len(events)), unit="count"),
        *(Evidence(signal="kernel_log", value=event.text) for event in reversed(events[-_SHOWN:])),
    )


def began(events: Sequence[KernelEventReading], frame: Frame) -> float:
    """Monotonic seconds of the first of them."""
    return min(event.time_seconds for event in events) - (
        frame.time_seconds - frame.monotonic_seconds
    )
