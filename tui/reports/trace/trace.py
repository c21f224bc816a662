"""A recording as a trace: the steps and phases of every rank, findings, and what GPUs and links did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter

from ....probes.derive.cache import DeriveCache
from ....probes.derive.frame import derive
from ....probes.model.frame import Frame
from ....probes.model.gpu_frames import GpuFrame
from ....probes.model.mark import Mark
from ....probes.model.reading import Key, key_of
from ....probes.model.sample import Sample
from .rank_spans import RankSpans, Span
from .writer import Clocks, Group, TraceWriter, Track

_NANOSECONDS = 1_000_000_000
_NO_PROCESS = 1 << 23
"""Linux gives no pid above 2**22: from here on numbers are of what is no process."""
FINDINGS = Group(_NO_PROCESS, "findings")
_GPUS, _PORTS = _NO_PROCESS + 1, _NO_PROCESS + (1 << 16)
STEPS, PHASES = 1, 2
"""Numbers of a rank's tracks."""
GPU_COUNTERS = (
    "power_watts",
    "sm_clock_hertz",
    "memory_clock_hertz",
    "temperature_celsius",
    "utilization_ratio",
    "sm_active_ratio",
    "memory_used_bytes",
    "pcie_rx_bytes_per_second",
    "pcie_tx_bytes_per_second",
    "nvlink_rx_bytes_per_second",
    "nvlink_tx_bytes_per_second",
)
_ADJUSTED = 1_000_000
"""The two clocks are not read at the same instant: only what is more is a clock that was set or slewed."""
_OVERLAP = 20_000_000
"""So much of one is cut off where such a change or a rounded length lets spans of a track overlap."""
PORT_COUNTERS = ("rx_bytes_per_second", "tx_bytes_per_second")


class Trace:
    """Samples and marks in the order of time go in, events come out; it remembers one sample.

    Args:
        writer: takes them.
    """

    def __init__(self, writer: TraceWriter) -> None:
        self._writer = writer
        self._cache = DeriveCache()
        self._frame: Frame | None = None
        self._zero = 0
        """Unix time at which the monotonic clock showed 0, in nanoseconds."""
        self._ranks: dict[Key, RankSpans] = {}
        self._groups: dict[Key, Group] = {}
        self._findings: dict[tuple[str, str], Mark] = {}
        self._rows: dict[tuple[str, str], Track] = {}
        self._ends: dict[Track, int] = {}
        """When the last span of each track of a rank ended."""
        self._ports: dict[str, Group] = {}
        self.spans = 0
        """How many were written, and values of counters."""
        self.values = 0

    def add(self, entry: Sample | Mark) -> None:
        """Take up what is newest."""
        if isinstance(entry, Mark):
            self._mark(entry)
            return
        zero = round((entry.time_seconds - entry.monotonic_seconds) * _NANOSECONDS)
        if self._frame is None or abs(zero - self._zero) > _ADJUSTED:
            self._zero = zero
        if self._frame is None:
            self._writer.begin(_clocks(entry))
        elif self._frame.boot_id != entry.boot_id:
            self._end_ranks()
        frame = self._frame = derive(self._frame, entry, self._cache)
        self._add_ranks(frame)
        moment = round(frame.time_seconds * _NANOSECONDS)
        for gpu in frame.gpus:
            if gpu.status == "ok":
                group = Group(_GPUS + gpu.index, _name_of(gpu))
                self._count(group, gpu, GPU_COUNTERS, moment)
        for port in frame.ports:
            name = f"{port.device} port {port.port}"
            group = self._ports.setdefault(name, Group(_PORTS + len(self._ports), name))
            self._count(group, port, PORT_COUNTERS, moment)

    def end(self) -> None:
        """Nothing comes any more: what goes on then has lasted until the last sample."""
        self._end_ranks()
        if self._frame is not None:
            for mark in self._findings.values():
                self._finding(mark, self._frame.time_seconds, "active")
            self._writer.end()

    def _add_ranks(self, frame: Frame) -> None:
        for probe in frame.probes:
            key = key_of(probe)
            if key not in self._groups:
                self._groups[key] = _group_of(frame, probe.pid, probe.rank)
            spans = self._ranks.setdefault(key, RankSpans())
            self._write(key, STEPS, spans.steps(probe))
            self._write(key, PHASES, spans.phases(probe))

    def _end_ranks(self) -> None:
        for key, spans in self._ranks.items():
            self._write(key, STEPS, spans.rest_of_steps())
            self._write(key, PHASES, spans.rest_of_phases())
        self._ranks.clear()

    def _write(self, key: Key, number: int, spans: Iterator[Span]) -> None:
        track = Track(self._groups[key], number, "steps" if number == STEPS else "phases")
        for span in spans:
            start, end = self._zero + span.start, self._zero + span.end
            before = self._ends.get(track, 0)
            if 0 < before - start <= _OVERLAP:
                start = before
            self._ends[track] = end = max(start, end)
            self._writer.span(track, span.name, start, end, span.arguments)
            self.spans += 1

    def _count(self, group: Group, source: object, names: Iterable[str], moment: int) -> None:
        for name in names:
            value = attrgetter(name)(source)
            if value is not None:  # missing is no 0: the counter stays at what it was
                self._writer.count(group, name, moment, value)
                self.values += 1

    def _mark(self, mark: Mark) -> None:
        key = (mark.rule, mark.subject)
        before = self._findings.pop(key, None)
        if before is not None and self._frame is not None:
            self._finding(before, mark.time_seconds, "ended")
        if mark.began:
            self._findings[key] = mark

    def _finding(self, mark: Mark, end_seconds: float, state: str) -> None:
        key = (mark.rule, mark.subject)
        words = f"{mark.rule} {mark.name}, {mark.subject}"
        track = self._rows.setdefault(key, Track(FINDINGS, len(self._rows) + 1, words))
        start = round(mark.time_seconds * _NANOSECONDS)
        end = max(start, round(end_seconds * _NANOSECONDS))
        about = {"severity": mark.severity, "at_the_end": state}
        self._writer.span(track, f"{mark.rule} {mark.name}", start, end, about)
        self.spans += 1


def _clocks(sample: Sample) -> Clocks:
    return Clocks(
        unix=round(sample.time_seconds * _NANOSECONDS),
        monotonic=round(sample.monotonic_seconds * _NANOSECONDS),
        boot=round((sample.monotonic_seconds + sample.suspended_seconds) * _NANOSECONDS),
    )


def _name_of(gpu: GpuFrame) -> str:
    return f"GPU {gpu.index}"


def _group_of(frame: Frame, pid: int, rank: int | None) -> Group:
    for job in frame.jobs:
        for each in job.ranks:
            if each.pid == pid:
                number = each.rank if rank is None else rank
                on = "" if each.gpu_index is None else f", GPU {each.gpu_index}"
                return Group(pid, f"rank {'?' if number is None else number}{on}", process=True)
    return Group(pid, "process with a probe", process=True)
