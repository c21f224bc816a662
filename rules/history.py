"""The recent past of the signals that rules and pictures look back on, in bounded memory."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache
from operator import attrgetter
from statistics import median
from typing import Any

from ..probes.model.frame import Frame
from ..probes.model.job_frames import RankFrame
from ..probes.model.port_counters import CounterKind, of_kind
from ..probes.model.signals import kept
from ..probes.model.throttle_reasons import THROTTLE_REASONS
from .columns import Columns
from .progress import stuck_ranks
from .series import Series
from .waits.interpreter import interpreter_taken

GPU_SIGNALS = kept("gpu")
HOST_SIGNALS = kept("host")
NETWORK_SIGNALS = kept("network")
"""Of single network interfaces."""
PROCESS_SIGNALS = (*kept("process"), "blocked")
"""Of ranks and their workers. ``blocked`` is 1 in state D, else 0: its mean is a share of time."""
CGROUP_SIGNALS = kept("cgroup")
PRESSURE_SIGNALS = kept("pressure")
"""Of control groups too."""
LIMIT_SIGNALS = kept("limits")
"""Of ranks too: what they may have only so much of."""
PORT_SIGNALS = kept("port")
"""Of RDMA ports; besides, ``errors KIND``: counters of that kind since the start, added up."""
RANK_SIGNALS = kept("rank")
PROBE_SIGNALS = kept("probe")
ALLOCATOR_SIGNALS = kept("allocator")
"""Of ranks that have a probe, and of those on a GPU."""
ERROR_KINDS: tuple[CounterKind, ...] = (
    "signal",
    "discard",
    "retransmission",
    "congestion",
    "operation",
)
STALLED = "phase stalled"
"""Share of the time in which a rank was stuck; it takes the place of the phase it was stuck in."""
THROTTLED = "throttle_bits"
"""Of a GPU: which of `THROTTLE_REASONS` hold its clocks down, as the sum of their bits."""

INTERPRETER_TAKEN = "interpreter_taken"
"""Of a rank of which stacks are taken: 1 while another thread has what its main thread waits for, else 0."""

_TYPICAL_OVER_SECONDS = 120.0
_BITS = {word: bit for bit, word in THROTTLE_REASONS.items()}


class History:
    """All series. Times are monotonic seconds of the node; older than ``seconds`` is forgotten."""

    def __init__(self, seconds: float = 600.0) -> None:
        self._seconds = seconds
        self._times = array("d")
        self._columns = Columns()
        self.stuck: frozenset[int] = frozenset()
        """Pids of the ranks that are stuck in the newest frame."""
        self._forgotten = 0
        """How many moments there were before the oldest."""
        # Of the newest moment alone, since each keeps its means: several rules ask for the same.
        self._handed_out: dict[tuple[str, str], Series] = {}

        self._changing = threading.Lock()
        """Held where its columns differ in length: who copies all of it must not meet that."""

    def __len__(self) -> int:
        return len(self._times)

    @property
    def values(self) -> int:
        """How many are kept, of all signals of all subjects."""
        return len(self._columns)

    @property
    def subjects(self) -> int:
        """How many are remembered."""
        return self._columns.subjects

    def add(self, frame: Frame) -> None:
        """Take up a frame. One that is not newer than the last is ignored."""
        with self._changing:
            self._add(frame)

    def until(self, monotonic_seconds: float) -> History:
        """What it was at a moment of the past; may be asked for on any thread."""
        past = History(self._seconds)
        with self._changing:
            end = bisect_right(self._times, monotonic_seconds)
            past._times = self._times[:end]
            past._columns = self._columns.until(self._forgotten + end)
            past._forgotten = self._forgotten
        return past

    def _add(self, frame: Frame) -> None:
        now = frame.monotonic_seconds
        if self._times and now <= self._times[-1]:
            return
        self._times.append(now)
        moment = self._forgotten + len(self._times) - 1
        for subject, signals, values, signature in _rows(frame):
            self._columns.put(subject, signals, values, moment, now, signature)
        self._mark_stalls(frame)
        self._columns.give_back(now)
        self._forget(now - self._seconds)
        # Last of all, for another thread may have asked meanwhile.
        self._handed_out = {}

    def gpu(self, index: int, signal: str) -> Series:
        """A signal of `GPU_SIGNALS`; empty where that GPU was never seen."""
        return self._series(f"gpu {index}", signal)

    def host(self, signal: str) -> Series:
        """A signal of `HOST_SIGNALS`."""
        return self._series("host", signal)

    def rank(self, pid: int, signal: str) -> Series:
        """A signal of `RANK_SIGNALS`, `PROBE_SIGNALS`, `ALLOCATOR_SIGNALS` or ``phase NAME`` (share) of a training process that has a probe."""
        return self._series(f"rank {pid}", signal)

    def process(self, pid: int, signal: str) -> Series:
        """A signal of `PROCESS_SIGNALS` or `LIMIT_SIGNALS`."""
        return self._series(f"process {pid}", signal)

    def cgroup(self, path: str, signal: str) -> Series:
        """A signal of `CGROUP_SIGNALS` or `PRESSURE_SIGNALS`."""
        return self._series(f"cgroup {path}", signal)

    def port(self, device: str, port: int, signal: str) -> Series:
        """A signal of `PORT_SIGNALS`, or ``errors KIND``."""
        return self._series(f"port {device}/{port}", signal)

    def network(self, name: str, signal: str) -> Series:
        """A signal of `NETWORK_SIGNALS`."""
        return self._series(f"network {name}", signal)

    def placement(self, pid: int) -> Series:
        """1 while a rank ran away from its GPU's memory node, else 0."""
        return self._series(f"process {pid}", "off_node")

    def clear(self) -> None:
        """Forget everything."""
        with self._changing:
            del self._times[:]
            self._handed_out = {}
            self._columns.clear()
            self._forgotten = 0
            self.stuck = frozenset()

    def seconds(self) -> float:
        """How far back it goes."""
        return self._times[-1] - self._times[0] if self._times else 0.0

    def _series(self, subject: str, signal: str) -> Series:
        key = (subject, signal)
        series = self._handed_out.get(key)
        if series is None:
            column = self._columns.of(subject).get(signal)
            if column is None:
                return Series(array("d"), array("d"))
            before = column.start - self._forgotten
            series = Series(self._times, column.values, self._forgotten, column.blocks, before)
            self._handed_out[key] = series
        return series

    def _mark_stalls(self, frame: Frame) -> None:
        """The time of a stuck rank is lost from its last step on, whatever phase it is stuck in."""
        stuck = stuck_ranks(frame, self._typical_step)
        self.stuck = frozenset(rank.pid for rank in stuck)
        newest = self._forgotten + len(self._times) - 1
        for rank in stuck:
            columns = self._columns.of(f"rank {rank.pid}")
            stalled = columns.get(STALLED)
            if stalled is None:
                continue
            first = newest
            if stalled.at(first - 1) != 1.0:
                since = self._times[-1] - (rank.step_age_seconds or 0.0)
                first = self._forgotten + bisect_left(self._times, since)
            for signal, column in columns.items():
                if signal.startswith("phase "):
                    column.fill(first, newest, 1.0 if signal == STALLED else 0.0)

    def _typical_step(self, rank: RankFrame) -> float | None:
        taken = self.rank(rank.pid, "step_seconds").window(_TYPICAL_OVER_SECONDS)
        return median(taken) if taken else None

    def _forget(self, before: float) -> None:
        # In blocks, so that most frames move nothing in memory.
        surplus = bisect_left(self._times, before)
        if surplus >= 64:
            # A new one: whoever draws at this moment goes on with the old.
            self._times = self._times[surplus:]
            self._forgotten += surplus
        if surplus >= 64 or len(self._times) % 64 == 0:
            self._columns.forget(self._forgotten, self._forgotten + len(self._times))


def _values_of(names: tuple[str, ...]) -> Callable[[Any], tuple[float | None, ...]]:
    """What reads these fields of a subject."""
    if len(names) != 1:
        return attrgetter(*names)
    (name,) = names
    one: Callable[[Any], float | None] = attrgetter(name)
    return lambda subject: (one(subject),)


_of_gpu = _values_of(GPU_SIGNALS)
_of_host = _values_of(HOST_SIGNALS)
_of_network = _values_of(NETWORK_SIGNALS)
_of_process = _values_of(kept("process"))
_of_cgroup = _values_of(CGROUP_SIGNALS)
_of_limits = _values_of(LIMIT_SIGNALS)
_of_pressure = _values_of(PRESSURE_SIGNALS)
_of_port = _values_of(PORT_SIGNALS)
_of_rank = _values_of(RANK_SIGNALS)
_of_probe = _values_of(PROBE_SIGNALS)
_of_allocator = _values_of(ALLOCATOR_SIGNALS)
_ERROR_COLUMNS = tuple(f"errors {kind}" for kind in ERROR_KINDS)


@lru_cache(maxsize=64)
def _throttle_bits(reasons: tuple[str, ...]) -> float:
    return float(sum(_BITS.get(reason, 0) for reason in reasons))


_Row = tuple[str, tuple[str, ...], tuple[float | None, ...], float | None]
"""Subject, signals, their values, and when it began where that tells it from a later one of its name."""


def _rows(frame: Frame) -> Iterator[_Row]:
    """What there is of each subject now."""
    for gpu in frame.gpus:
        if gpu.status == "ok":  # else its columns are padded
            subject = f"gpu {gpu.index}"
            yield subject, GPU_SIGNALS, _of_gpu(gpu), None
            if gpu.throttle_reasons is not None:
                yield subject, (THROTTLED,), (_throttle_bits(gpu.throttle_reasons),), None
    if frame.host is not None:
        yield "host", HOST_SIGNALS, _of_host(frame.host), None
        for network in frame.host.networks or ():
            yield f"network {network.name}", NETWORK_SIGNALS, _of_network(network), None
    for job in frame.running:
        for rank in job.ranks:
            subject, start = f"rank {rank.pid}", rank.start_time_seconds
            yield subject, RANK_SIGNALS, _of_rank(rank), start
            probe = frame.probe(rank.pid, rank.start_time_seconds)
            if probe is not None:
                yield subject, PROBE_SIGNALS, _of_probe(probe), start
                if probe.allocator is not None:
                    yield subject, ALLOCATOR_SIGNALS, _of_allocator(probe.allocator), start
            for phase, share in rank.phases.items():
                yield subject, (f"phase {phase}",), (share,), start
            if rank.phases:
                yield subject, (STALLED,), (0.0,), start
            if frame.stacks:
                yield subject, (INTERPRETER_TAKEN,), (interpreter_taken(rank, frame),), start
    for process in frame.processes:
        if process.role in ("rank", "worker"):
            blocked = None if process.state is None else process.state == "D"
            values = (*_of_process(process), blocked)
            yield f"process {process.pid}", PROCESS_SIGNALS, values, process.start_time_seconds
    for limits in frame.limits:
        yield f"process {limits.pid}", LIMIT_SIGNALS, _of_limits(limits), None
    for placement in frame.placements:
        near = placement.runs_near
        off = None if near is None else not near
        yield f"process {placement.pid}", ("off_node",), (off,), None
    for port in frame.ports:
        subject = f"port {port.device}/{port.port}"
        yield subject, PORT_SIGNALS, _of_port(port), None
        if port.counters:
            since = port.counters_since_start
            errors = [float(sum(of_kind(since, kind).values())) for kind in ERROR_KINDS]
            yield subject, _ERROR_COLUMNS, tuple(errors), None
    for group in frame.cgroups:
        yield f"cgroup {group.path}", CGROUP_SIGNALS, _of_cgroup(group), None
    for pressure in frame.pressures:
        yield f"cgroup {pressure.path}", PRESSURE_SIGNALS, _of_pressure(pressure), None
