"""The processes on a GPU, their memory and their share of its time."""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from ...model.gpu_readings import GpuProcessReading
from ...model.missing_reasons import NOT_UNDER_MIG
from .call import Answer, Calls, Fields
from .units import count

Kind = Literal["compute", "graphics", "mps"]

_KINDS: dict[Kind, str] = {
    "compute": "nvmlDeviceGetComputeRunningProcesses",
    "graphics": "nvmlDeviceGetGraphicsRunningProcesses",
    "mps": "nvmlDeviceGetMPSComputeRunningProcesses",
}
_RARE_KINDS_SECONDS = 5.0

_NOT_FOUND, _INSUFFICIENT_SIZE = 6, 7
_ROOM = 32
_TRIES = 3
_MOST_PROCESSES = 100_000
"""No node has more; a driver that announces them means something else."""
_HIGHEST_PID = 1 << 22
_NO_INSTANCE = 0xFFFFFFFF

_STALE_MICROSECONDS = 5_000_000
_FUTURE_MICROSECONDS = 60_000_000
_HOLD_SECONDS = 2.0
_LONGEST_HOLD_SECONDS = 10.0


# The records of NVML's lists. Unpacked, since the binding's structures run Python for each access to a
# member.
_PROCESS_1 = struct.Struct("IQ")
"""Pid, memory."""
_PROCESS_2 = struct.Struct("IQII")
"""The same, GPU instance, compute instance."""
_LAYOUTS = (("_v3", _PROCESS_2), ("_v2", _PROCESS_2), ("", _PROCESS_1))
_SAMPLE = struct.Struct("IQIIII")
"""Pid, time stamp in microseconds, use of SM, memory, encoder and decoder in percent."""


class Sample(NamedTuple):
    """A process's use of the GPU as the driver noted it."""

    pid: int
    stamp: int
    percent: int


class Share(NamedTuple):
    """A process's share of the GPU's time, by the driver's stamp, good until a moment of our clock."""

    ratio: float
    stamp: int
    until: float


class Processes:
    """The processes of one GPU. Used from one thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lists: dict[Kind, Answer[list[GpuProcessReading]]] = {}
        self._rare_until = 0.0
        self.shares: dict[int, Share] = {}
        self._seen = 0

    def read(self, calls: Calls, fields: Fields, *, mig: bool, total: int | None) -> None:
        """Fill ``processes``; ``total`` is the GPU's memory, for plausibility."""
        now = self._clock()
        self._refresh_lists(calls, now, total)
        listed = self._merged()
        if listed.value is None:
            fields.put("processes", listed)
            return
        if mig:
            fields.absent(NOT_UNDER_MIG, "processes.sm_ratio")
            fields.values["processes"] = tuple(listed.value)
            return
        reason = self._refresh_shares(calls, now, {process.pid for process in listed.value})
        if reason:
            fields.absent(reason, "processes.sm_ratio")
        fields.values["processes"] = tuple(map(self._with_share, listed.value))

    def _refresh_lists(self, calls: Calls, now: float, total: int | None) -> None:
        rare = now >= self._rare_until
        if rare:
            self._rare_until = now + _RARE_KINDS_SECONDS
        for kind, function in _KINDS.items():
            if kind == "compute" or rare:
                entries = calls.run(function, partial(_running, calls, function))
                self._lists[kind] = entries.then(partial(_readings, kind, total))

    def _merged(self) -> Answer[list[GpuProcessReading]]:
        """One entry a process and instance: a process that also draws is still a compute process."""
        if self._lists["compute"].value is None:
            return self._lists["compute"]
        merged: dict[tuple[int, int | None], GpuProcessReading] = {}
        for listed in self._lists.values():
            for process in listed.value or ():
                merged.setdefault((process.pid, process.gpu_instance), process)
        return Answer(list(merged.values()))

    def _with_share(self, process: GpuProcessReading) -> GpuProcessReading:
        share = self.shares.get(process.pid)
        if share is None:
            return process
        return GpuProcessReading(
            pid=process.pid,
            kind=process.kind,
            memory_bytes=process.memory_bytes,
            gpu_instance=process.gpu_instance,
            sm_ratio=share.ratio,
        )

    def _refresh_shares(self, calls: Calls, now: float, pids: set[int]) -> str:
        """Newest share of each process; returns why there are none."""
        reason = ""
        if pids:
            answer = calls.run("nvmlDeviceGetProcessUtilization", lambda: self._samples(calls))
            reason = answer.reason
            self.take(answer.value or [], now, pids)
        self.shares = {
            pid: share
            for pid, share in self.shares.items()
            if pid in pids and now <= share.until and not reason
        }
        return reason

    def take(self, samples: Sequence[Sample], now: float, pids: set[int]) -> None:
        """Note the newest believable share of each of ``pids``."""
        # The driver's buffer may hold entries of dead processes, of long ago, and plain garbage.
        latest = int(time.time() * 1e6) + _FUTURE_MICROSECONDS
        good = [
            sample
            for sample in samples
            if sample.pid in pids and sample.percent <= 100 and self._seen < sample.stamp <= latest
        ]
        newest = max((sample.stamp for sample in good), default=self._seen)
        for sample in good:
            known = self.shares.get(sample.pid)
            if sample.stamp < newest - _STALE_MICROSECONDS:
                continue
            if known is not None and sample.stamp < known.stamp:
                continue
            period = (sample.stamp - known.stamp) / 1e6 if known else 0.0
            # Samples come at the driver's pace; between two of them the last one stands.
            hold = min(max(_HOLD_SECONDS, 2 * period), _LONGEST_HOLD_SECONDS)
            self.shares[sample.pid] = Share(sample.percent / 100, sample.stamp, now + hold)
        self._seen = newest

    def _samples(self, calls: Calls) -> list[Sample]:
        function = _symbol(calls.nvml, "nvmlDeviceGetProcessUtilization")
        since = ctypes.c_ulonglong(self._seen)
        try:
            records = _records(
                calls, _SAMPLE, lambda room, buffer: function(calls.handle, buffer, room, since)
            )
        except calls.nvml.NVMLError as error:
            if error.value != _NOT_FOUND:  # none since then
                raise
            return []
        return [Sample(pid, stamp, percent) for pid, stamp, percent, *_ in records]


def _symbol(nvml: Any, name: str) -> Any:
    """A function of the library itself: one call where the binding makes two, to ask for the size."""
    function = getattr(nvml.nvmlLib, name, None)
    if function is None:
        raise nvml.NVMLError(nvml.NVML_ERROR_FUNCTION_NOT_FOUND)
    return function


def _running(calls: Calls, name: str) -> list[tuple[int, ...]]:
    nvml = calls.nvml
    for suffix, layout in _LAYOUTS:
        function = getattr(nvml.nvmlLib, name + suffix, None)
        if function is not None:
            return _records(calls, layout, partial(function, calls.handle))
    raise nvml.NVMLError(nvml.NVML_ERROR_FUNCTION_NOT_FOUND)


def _records(
    calls: Calls, layout: struct.Struct, ask: Callable[[Any, Any], int]
) -> list[tuple[int, ...]]:
    """What ``ask`` fills a buffer with, which may have to grow first."""
    room = ctypes.c_uint(_ROOM)
    code = _INSUFFICIENT_SIZE
    for _ in range(_TRIES):
        buffer = ctypes.create_string_buffer(room.value * layout.size)
        code = ask(ctypes.byref(room), buffer)
        if code == 0:
            return list(layout.iter_unpack(buffer.raw[: room.value * layout.size]))
        if code != _INSUFFICIENT_SIZE or room.value > _MOST_PROCESSES:
            break
        room.value = room.value * 2 + 8
    raise calls.nvml.NVMLError(code)


def _readings(
    kind: Kind, total: int | None, records: list[tuple[int, ...]]
) -> Answer[list[GpuProcessReading]]:
    readings: list[GpuProcessReading] = []
    for pid, used, *instances in records:
        if not 0 < pid <= _HIGHEST_PID:
            # Some drivers changed the layout without a new symbol; nothing of it can be trusted.
            return Answer(None, "process list unreliable with this driver")
        memory = count(used).value
        instance = instances[0] if instances else _NO_INSTANCE
        readings.append(
            GpuProcessReading(
                pid=pid,
                kind=kind,
                memory_bytes=memory if memory is None or not total or memory <= total else None,
                gpu_instance=None if instance == _NO_INSTANCE else instance,
            )
        )
    return Answer(readings)
