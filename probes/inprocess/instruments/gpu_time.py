"""How long the GPU took for each phase of a step, and how far the host was ahead of it.

At each change of phase in the loop an event is recorded; the probe's own thread asks later whether the
GPU has reached the last one of a step, and then writes the times into the record of that step. Between
two events lies what the stream did, and its waiting for the host: a stream that gets its work late shows
long times, and a run-ahead near zero beside them.
"""

from __future__ import annotations

from collections import deque
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .. import layout
from ..instrument import ON, Off
from .gpu_events import Events
from .patching import Patching

if TYPE_CHECKING:
    from ..interface import ProbeLike

_DATA, _H2D = layout.CODES["data"], layout.CODES["h2d"]
_BETWEEN = (layout.CODES["startup"], layout.CODES["other"])
_TIMED = frozenset(
    layout.CODES[name]
    for name in (
        *("startup", "data", "h2d", "forward", "backward"),
        *("optimizer", "checkpoint", "eval", "idle", "other"),
    )
)
"""Others lie within these, and may be many: collectives, the compiler's work, and the job's own phases."""
_MOST_EDGES = 96
"""Events of one step: twelve micro-steps."""
_SHORT_NANOSECONDS = 5_000_000
"""Steps shorter than that are not all timed. [design, 4.2]"""
_KEPT = layout.STEPS - 32
"""Of so many steps back the record may still be written anew; the ring may have come round."""


class Clock(Protocol):
    """What `Events` does; tests have one of their own."""

    def usable(self) -> bool:
        """Whether an event recorded now is a moment."""
        ...

    def record(self) -> Any:
        """An event, or ``None``."""
        ...

    def give_back(self, events: list[Any]) -> None:
        """Take them back."""
        ...


class Edge(NamedTuple):
    """From that event on, the loop is in that phase."""

    code: int
    event: Any
    moment: int
    """On the host's clock, nanoseconds."""


class _Timed(NamedTuple):
    """A step whose times the GPU has not reported yet."""

    place: int
    """-1: it lacks some, and only gives its events back."""
    step: layout.Step
    edges: list[Edge]


class GpuTime(Patching):
    """Marks the phases of the loop on the GPU's clock."""

    name = "gpu_time"

    def __init__(self, probe: ProbeLike, clock: Clock | None = None) -> None:
        super().__init__(probe)
        self._clock = clock or Events(self.torch)
        self._open: list[Edge] = []
        self._whole = True
        """Whether the step has all of its edges."""
        self._late: deque[_Timed] = deque()
        self._dropped = 0
        self._skip = 0

    def install(self) -> None:
        if isinstance(self._clock, Events) and not self.torch.version.cuda:
            raise Off("no CUDA")
        self.probe.tell_phases(self._mark)
        self.probe.at_step_end.append(self._step_ended)
        self.probe.ask(self._gauge)

    def remove(self) -> None:
        super().remove()
        self.probe.tell_phases(None)
        if self._step_ended in self.probe.at_step_end:
            self.probe.at_step_end.remove(self._step_ended)
        self._open.clear()
        self._late.clear()
        self._whole = False  # if it is put in again, what is under way lacks its beginning

    def _mark(self, code: int, moment: int) -> None:
        try:
            if self._skip or not self._whole or code not in _TIMED:
                return
            after = self._open[-1].code if self._open else None
            if after == code or (code in _BETWEEN and (after == _H2D or after in _BETWEEN)):
                return  # back from one of those that are not timed
            if len(self._open) >= _MOST_EDGES or not self._clock.usable():
                self._whole = False
                return
            timing = self.timing
            began = timing.now() if timing else 0
            event = self._clock.record()
            if event is None:
                self._whole = False
                return
            self.calls += 1
            if timing:  # to record it is what takes time
                timing.add(timing.now() - began)
            # What the GPU does between a draw and the forward is to fetch what was drawn.
            fetches = after == _DATA and code in _BETWEEN
            self._open.append(Edge(_H2D if fetches else code, event, moment))
        except Exception as error:
            self.fail(error)

    def _step_ended(self, step: layout.Step) -> None:
        try:
            self._close(step)
        except Exception as error:
            self.fail(error)

    def _close(self, step: layout.Step) -> None:
        edges = self._open
        mine = [edge for edge in edges if edge.moment <= step.ended]
        if self._skip:
            self._skip -= 1
        elif not self._whole or len(mine) < 2:
            self._dropped += 1
            self._late.append(_Timed(-1, step, edges))
            self._open = []
        else:
            place = self.probe.steps.count - 1
            ahead = run_ahead(mine, perf_counter_ns())
            step.run_ahead = ahead
            self._late.append(_Timed(place, step, mine))
            self._skip = max(0, _SHORT_NANOSECONDS // max(step.duration, 1) - 1)
            # The exit of the last optimizer, which ends this step, begins the next one.
            self._open = [] if self._skip else edges[len(mine) - 1 :]
        self._whole = True

    def _gauge(self) -> dict[str, object]:
        while self._late and self.state == ON:
            timed = self._late[0]
            if not all(edge.event.query() for edge in timed.edges):
                break
            self._late.popleft()
            if timed.place >= 0:
                self._store(timed)
            # The last one may be the first of the step behind it in the row.
            shared = bool(self._late) and self._late[0].edges[:1] == timed.edges[-1:]
            shared = shared or self._open[:1] == timed.edges[-1:]
            mine = timed.edges[:-1] if shared else timed.edges
            self._clock.give_back([edge.event for edge in mine])
        return {"gpu_time_dropped": self._dropped}

    def _store(self, timed: _Timed) -> None:
        if self.probe.steps.count - timed.place > _KEPT:
            self._dropped += 1
            return
        times: dict[int, int] = {}
        for edge, after in zip(timed.edges, timed.edges[1:]):
            took = int(edge.event.elapsed_time(after.event) * 1e6)
            times[edge.code] = times.get(edge.code, 0) + took
        hosts = {code: host for code, host, _ in timed.step.phases}
        timed.step.phases = [
            (code, hosts.get(code, 0), times.get(code)) for code in sorted({*hosts, *times})
        ]
        self.probe.page.store_again(timed.place, timed.step)


def run_ahead(edges: list[Edge], now: int) -> int:
    """How long ago the host gave the GPU what it is at now, in nanoseconds; 0: it has done all."""
    reached, end = 0, len(edges)
    while reached < end:
        middle = (reached + end) // 2
        if edges[middle].event.query():
            reached = middle + 1
        else:
            end = middle
    return 0 if reached == len(edges) else now - edges[max(reached - 1, 0)].moment
