"""The collector: a process of its own that asks every source each tick and sends what it has.

A driver call can hang for ever, in the kernel, where no thread can be cancelled and from where no
process can exit. So the front end never makes one: it reads samples from this process, and when this
process is stuck, it leaves it behind.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from ..model.gpu_readings import GpuReading
from ..model.sample import Sample, SourceStatus
from ..sources.protocol import Part, Source
from ..wire.limits import MAX_INTERVAL_SECONDS, MIN_INTERVAL_SECONDS
from .lost_time import LostTime
from .registry import LINES
from .runner import SourceRunner

GRACE_RATIO = 0.25
"""Share of the interval for which a sample waits for its sources before it leaves without them."""
STAGGER_SECONDS = 0.01
"""So long one source is waited for before another one is asked beside it."""
LONGEST_GRACE_SECONDS = 3.0
"""And no longer than that for sources that get no CPU: then what there is leaves, marked as such."""
FORGET_SECONDS = 60.0
"""A reading of this age is not sent again, except a GPU's, whose row must stay."""


FIELDS = tuple(dict.fromkeys(field for line in LINES for field in line.fills))
"""Of the sample, which sources fill."""


def _kind_of(field: str) -> tuple[type[Part], bool]:
    """The readings that a field of the sample holds, and whether it holds many."""
    annotation = Sample.__annotations__[
        field
    ]  # ``tuple[GpuReading, ...]`` or ``HostReading | None``
    kind: type[Part] = annotation.__args__[0]
    return kind, Ellipsis in annotation.__args__


_KINDS = {field: _kind_of(field) for field in FIELDS}
_FIELD_OF = {kind: field for field, (kind, _) in _KINDS.items()}
"""Where each kind of reading goes. By its very type, which costs less than asking one by one."""
_SINGLE = tuple(field for field, (_, many) in _KINDS.items() if not many)


class Collector:
    """Makes a sample each interval out of the newest readings of its sources.

    Args:
        node: name of this machine.
        boot_id: of this machine's run; differs after each start of the kernel.
        interval_seconds: between samples, held to 0.2..60.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        node: str,
        boot_id: str = "",
        interval_seconds: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._node = node
        self._boot_id = boot_id
        self._clock = clock
        self._runners: list[SourceRunner] = []
        self._waiting: deque[SourceRunner] = deque()
        self._news: SimpleQueue[None] = SimpleQueue()
        self._hurry = False
        self._sequence = 0
        self._interval = _held(interval_seconds)
        self._lost = LostTime(clock)

    def add(self, source: Source, fills: Iterable[str] = FIELDS) -> None:
        """Take up a source. Any thread may call this at any time.

        Args:
            source: is asked from now on.
            fills: fields of the sample that its readings may go to.
        """
        kinds = frozenset(_KINDS[field][0] for field in fills)
        runner = SourceRunner(source, kinds, self._ask_next, self._clock)
        self._runners.append(runner)
        self._waiting.append(runner)

    @property
    def interval_seconds(self) -> float:
        """Between samples."""
        return self._interval

    def set_interval(self, seconds: float) -> float:
        """From the next sample on; returns what it was held to."""
        self._interval = _held(seconds)
        self.hurry()
        return self._interval

    def hurry(self) -> None:
        """Take the next sample now."""
        self._hurry = True
        self._news.put(None)

    def samples(self) -> Iterator[Sample]:
        """One sample each interval, for ever, on time whatever the sources do."""
        due = self._clock()
        while True:
            # Where this process woke late, the sources have their time all the same.
            self._ask_all(max(due, self._clock()) + self._interval * GRACE_RATIO)
            sample = self._sample()
            left = self._clock()
            yield sample
            self._lost.away(self._clock() - left)
            # A reader that came late gets the next sample in its own time, not a burst.
            began, due = due, max(due + self._interval, self._clock())
            if self._sleep_until(due, began + MIN_INTERVAL_SECONDS):
                due = self._clock()

    def _ask_all(self, deadline: float) -> None:
        """Ask every source that is free, and those that they bring along; wait for them a little.

        Each that has answered asks the next. Threads that read together would take the interpreter
        from each other at every call, which costs more than the calls; but one that does not answer
        at once does not hold up the rest.
        """
        hanging = [runner for runner in self._runners if runner.busy]  # since an earlier tick
        self._waiting.extend(
            runner
            for runner in self._runners
            if runner not in hanging and runner not in self._waiting and not runner.resting
        )
        self._ask_next()
        latest = deadline + LONGEST_GRACE_SECONDS
        while (left := deadline - self._clock()) > 0:
            waiting = len(self._waiting)
            if not waiting and not any(r.busy for r in self._runners if r not in hanging):
                return
            self._wait(min(STAGGER_SECONDS, left))
            # Who gets no CPU has not had its time yet.
            deadline = min(latest, deadline + self._look(hanging))
            if waiting and waiting == len(self._waiting):
                self._ask_next()
        while self._waiting:
            self._ask_next()

    def _ask_next(self) -> None:
        try:
            self._waiting.popleft().ask()
        except IndexError:
            self._news.put(None)  # that was the last one

    def _sleep_until(self, due: float, earliest: float) -> bool:
        """Whether somebody was in a hurry before that; even for them it is not sooner than ``earliest``."""
        while (left := (earliest if self._hurry else due) - self._clock()) > 0:
            self._wait(left)
        hurried, self._hurry = self._hurry, False
        return hurried

    def _wait(self, seconds: float) -> None:
        """Until something has changed, or the time is over."""
        began = self._clock()
        with contextlib.suppress(Empty):
            self._news.get(timeout=max(0.0, seconds))
        self._lost.waited(seconds, self._clock() - began)

    def _look(self, hanging: Sequence[SourceRunner] = (), *, now: bool = False) -> float:
        """See who was not run, every now and then or now.

        Returns the seconds that some read of this tick lost, which is none of those that hang.
        """
        looked = self._lost.look(now=now)
        if looked is None:
            return 0.0
        elapsed, lost = looked
        of_each = {runner: runner.lose(elapsed, lost) for runner in tuple(self._runners)}
        self._lost.add(max(lost, *of_each.values(), 0.0))
        return max((lost for runner, lost in of_each.items() if runner not in hanging), default=0.0)

    def _sample(self) -> Sample:
        self._look(now=True)
        now = self._clock()
        gathered, statuses = self._gather(now)
        self._sequence += 1
        gathered["gpus"].sort(key=_index_of)
        filled: dict[str, Any] = {}
        for field, parts in gathered.items():
            if field not in _SINGLE:
                filled[field] = tuple(parts)
            elif parts:
                filled[field] = parts[-1]
        return Sample(
            time_seconds=time.time(),
            monotonic_seconds=now,
            sequence=self._sequence,
            node=self._node,
            interval_seconds=self._interval,
            boot_id=self._boot_id,
            suspended_seconds=_suspended_seconds(),
            sources=statuses,
            starvation=self._lost.since_last(),
            **filled,
        )

    def _gather(self, now: float) -> tuple[dict[str, list[Any]], tuple[SourceStatus, ...]]:
        """The newest readings by field of the sample, and how the sources fare."""
        gathered: dict[str, list[Any]] = {field: [] for field in FIELDS}
        statuses: list[SourceStatus] = []
        for runner in tuple(self._runners):
            parts, status = runner.newest()
            statuses.append(status)
            read_at = status.monotonic_seconds
            forgotten = read_at is None or now - read_at > FORGET_SECONDS
            for part in parts:
                if not forgotten or isinstance(part, GpuReading):
                    gathered[_FIELD_OF[type(part)]].append(part)
        return gathered, tuple(statuses)


def _index_of(gpu: GpuReading) -> int:
    return gpu.index


def _held(interval_seconds: float) -> float:
    return min(MAX_INTERVAL_SECONDS, max(MIN_INTERVAL_SECONDS, interval_seconds))


def _suspended_seconds() -> float:
    asleep = time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
    return max(0.0, round(asleep, 2))
