"""Garbage collections: how many, how long, and the phase while a long one runs."""

from __future__ import annotations

import gc
from time import perf_counter_ns

from .instrument import Instrument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .interface import ProbeLike
    from .track import Track

_OLDEST = 2


class Garbage(Instrument):
    """Called by the interpreter before and after each collection."""

    name = "gc"

    def __init__(self, probe: ProbeLike) -> None:
        super().__init__(probe)
        self._pauses = 0
        self._nanoseconds = 0
        self._began = 0
        self._paused: Track | None = None

    def install(self) -> None:
        gc.callbacks.append(self._called)
        self.probe.ask(self._gauge)

    def remove(self) -> None:
        gc.callbacks.remove(self._called)

    def _gauge(self) -> dict[str, object]:
        return {"gc_pauses": self._pauses, "gc_pause_ns": self._nanoseconds}

    def _called(self, when: str, info: dict[str, int]) -> None:
        # The young are collected many times a second, in microseconds: only the time is taken.
        timing = self.timing
        began = timing.now() if timing else 0
        try:
            self.calls += 1
            if when == "start":
                self._began = perf_counter_ns()
                if info["generation"] >= 1:
                    self._paused = self.probe.known_track()
                    if self._paused:
                        self._paused.pause()
            else:
                self._nanoseconds += perf_counter_ns() - self._began
                self._pauses += info["generation"] == _OLDEST
                if self._paused:
                    self._paused.resume()
                    self._paused = None
            if timing:
                timing.add(timing.now() - began)
        except Exception as error:
            self.fail(error)
