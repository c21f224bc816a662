"""What the probe itself costs the job, reckoned from how often each instrument was called."""

from __future__ import annotations

from time import perf_counter_ns

from . import layout
from .instrument import ON
from .track import make_track

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .probe import Probe

LIMIT_RATIO = 0.01
"""Of the time that passes. Above it, twice in a row, the dearest instrument goes. [design, 3]"""
_WINDOW_NANOSECONDS = 5_000_000_000
_TRIALS = 200
CALL_EDGES = 5.0
"""What a hook costs beside its phase changes, in phase changes: the wrapper, its guards, what it tells
the count of steps. [tests/bench/test_probe_cost.py: 4 to 5]"""


class Cost:
    """Looked at once a second by the probe's own thread."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._edge_nanoseconds = 0.0
        self._began = perf_counter_ns()
        self._calls: dict[str, int] = {}
        self._too_dear = 0
        self._ratio: float | None = None

    def look(self) -> float | None:
        """Share of the last whole window that the probe took; ``None`` before there was one."""
        if not self._edge_nanoseconds:
            self._edge_nanoseconds = _time_edge()
        now = perf_counter_ns()
        if now - self._began >= _WINDOW_NANOSECONDS:
            self._judge(now)
        return self._ratio

    def _judge(self, now: int) -> None:
        instruments = self._probe.instruments
        costs = {
            name: (each.calls - self._calls.get(name, 0))
            * (each.edges + CALL_EDGES)
            * self._edge_nanoseconds
            for name, each in instruments.items()
        }
        self._ratio = sum(costs.values()) / (now - self._began)
        self._began = now
        self._calls = {name: each.calls for name, each in instruments.items()}
        self._too_dear = self._too_dear + 1 if self._ratio > LIMIT_RATIO else 0
        if self._too_dear < 2:
            return
        self._too_dear = 0
        dearest = max(
            (name for name in costs if instruments[name].state == ON),
            key=lambda name: costs[name],
            default=None,
        )
        if dearest is not None:
            instruments[dearest].stop(
                f"off: the probe took {self._ratio:.1%} of the time, this most of it"
            )


def _time_edge() -> float:
    """Nanoseconds of one phase change here and now."""
    words = memoryview(bytearray(layout.PAGE_SIZE)).cast("Q")
    track = make_track(words, 0, layout.CODES["other"], 0)
    enter, leave = track.enter, track.leave
    began = perf_counter_ns()
    for _ in range(_TRIALS):
        leave(enter(2))
    return (perf_counter_ns() - began) / (2 * _TRIALS)
