"""The collector: a process of its own that asks every source each tick and sends what it has.

A driver call can hang for ever, in the kernel, where no thread can be cancelled and from where no
process can exit. So the front end never makes one: it reads samples from this process, and when this
process is stuck, it leaves it behind.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue

import msgspec

from ..model.gpu_readings import DriverReading, GpuReading, XidReading
from ..model.host_readings import CgroupReading, HostReading
from ..model.link_readings import GpuPathsReading, PlacementReading, PortReading, TopologyReading
from ..model.probe_readings import ProbeReading
from ..model.process_readings import ProcessReading
from ..model.rank_readings import CommunicatorReading, ExitReading, StackReading, ThreadsReading
from ..model.sample import Sample, SourceStatus
from ..sources.protocol import Part, Source
from ..wire.limits import MAX_INTERVAL_SECONDS, MIN_INTERVAL_SECONDS
from .lost_time import LostTime
from .runner import SourceRunner

GRACE_RATIO = 0.25
"""Share of the interval for which a sample waits for its sources before it leaves without them."""
STAGGER_SECONDS = 0.01
"""So long one source is waited for before another one is asked beside it."""
LONGEST_GRACE_SECONDS = 3.0
"""And no longer than that for sources that get no CPU: then what there is leaves, marked as such."""
FORGET_SECONDS = 60.0
"""A reading of this age is not sent again, except a GPU's, whose row must stay."""


class _Gathered(msgspec.Struct):
    """The newest parts of all sources, sorted by kind."""

    driver: DriverReading | None = None
    host: HostReading | None = None
    topology: TopologyReading | None = None
    gpu_paths: GpuPathsReading | None = None
    placements: list[PlacementReading] = msgspec.field(default_factory=list[PlacementReading])
    gpus: list[GpuReading] = msgspec.field(default_factory=list[GpuReading])
    xids: list[XidReading] = msgspec.field(default_factory=list[XidReading])
    processes: list[ProcessReading] = msgspec.field(default_factory=list[ProcessReading])
    cgroups: list[CgroupReading] = msgspec.field(default_factory=list[CgroupReading])
    ports: list[PortReading] = msgspec.field(default_factory=list[PortReading])
    probes: list[ProbeReading] = msgspec.field(default_factory=list[ProbeReading])
    threads: list[ThreadsReading] = msgspec.field(default_factory=list[ThreadsReading])
    stacks: list[StackReading] = msgspec.field(default_factory=list[StackReading])
    exits: list[ExitReading] = msgspec.field(default_factory=list[ExitReading])
    communicators: list[CommunicatorReading] = msgspec.field(
        default_factory=list[CommunicatorReading]
    )

    def add(self, part: Part) -> None:
        """File one part."""
        kind = type(part)
        if kind in _MANY:
            getattr(self, _MANY[kind]).append(part)
        else:
            setattr(self, _ONE[kind], part)


_MANY: dict[type[Part], str] = {
    GpuReading: "gpus",
    XidReading: "xids",
    ProcessReading: "processes",
    CgroupReading: "cgroups",
    PortReading: "ports",
    ProbeReading: "probes",
    ThreadsReading: "threads",
    StackReading: "stacks",
    ExitReading: "exits",
    CommunicatorReading: "communicators",
    PlacementReading: "placements",
}
_ONE: dict[type[Part], str] = {
    DriverReading: "driver",
    HostReading: "host",
    TopologyReading: "topology",
    GpuPathsReading: "gpu_paths",
}
"""Where each kind of part goes. By its very type, which costs less than asking one by one."""


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

    def add(self, source: Source) -> None:
        """Take up a source. Any thread may call this at any time."""
        runner = SourceRunner(source, self._ask_next, self._clock)
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
            self._ask_all(due + self._interval * GRACE_RATIO)
            yield self._sample()
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
        self._lost.late(self._clock() - began - seconds)

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
        return Sample(
            time_seconds=time.time(),
            monotonic_seconds=now,
            sequence=self._sequence,
            node=self._node,
            interval_seconds=self._interval,
            boot_id=self._boot_id,
            driver=gathered.driver,
            gpus=tuple(sorted(gathered.gpus, key=lambda gpu: gpu.index)),
            xids=tuple(gathered.xids),
            processes=tuple(gathered.processes),
            cgroups=tuple(gathered.cgroups),
            host=gathered.host,
            probes=tuple(gathered.probes),
            threads=tuple(gathered.threads),
            stacks=tuple(gathered.stacks),
            exits=tuple(gathered.exits),
            ports=tuple(gathered.ports),
            topology=gathered.topology,
            gpu_paths=gathered.gpu_paths,
            placements=tuple(gathered.placements),
            communicators=tuple(gathered.communicators),
            sources=statuses,
            starvation=self._lost.since_last(),
        )

    def _gather(self, now: float) -> tuple[_Gathered, tuple[SourceStatus, ...]]:
        gathered = _Gathered()
        statuses: list[SourceStatus] = []
        for runner in tuple(self._runners):
            parts, status = runner.newest()
            statuses.append(status)
            read_at = status.monotonic_seconds
            forgotten = read_at is None or now - read_at > FORGET_SECONDS
            for part in parts:
                if not forgotten or isinstance(part, GpuReading):
                    gathered.add(part)
        return gathered, tuple(statuses)


def _held(interval_seconds: float) -> float:
    return min(MAX_INTERVAL_SECONDS, max(MIN_INTERVAL_SECONDS, interval_seconds))
