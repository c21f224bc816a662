"""The node without its GPUs: cores, memory, pressure, disks, networks.

All by direct reads of kept descriptors: psutil opens and parses whole files for each of these calls.
No file system is asked for its size except the one in memory behind ``/dev/shm``, since a dead network
mount would hang whoever asks.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ...model.host_readings import HostReading
from ...model.reading import Missing
from ..context import Context
from ..procfs.files import Descriptors, KeptFiles
from ..procfs.text import TICKS_PER_SECOND, parse_cpu_list, parse_fields, times
from ..protocol import SourceAbsent
from .cpu_loads import CpuLoadMeter
from .cpu_users import CpuUsers
from .devices import Devices
from .text import (
    OneCpu,
    parse_cpu,
    parse_cpus,
    parse_disks,
    parse_load,
    parse_networks,
    parse_pressure,
    parse_tcp,
)

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_NO_TWO_LOOKS = "compared with five seconds before: not yet"
_CORES_TO_SPARE = "looked for only while no core is to spare"
_UNREADABLE = "not reported by this kernel"
_NO_PRESSURE = "this kernel does not account for pressure: boot it with psi=1"
_MEMORY = (b"MemTotal:", b"MemAvailable:", b"SwapTotal:", b"SwapFree:")
_SWAPPED = (b"pswpin ", b"pswpout ")
_OF_MANY_RECORDS = frozenset({"vmstat", "diskstats", "net/dev"})
"""The other files are one record each, which the kernel gives out at once."""

_Parsed = TypeVar("_Parsed")


class HostSource:
    """Reads the node.

    Args:
        root: of the file system with ``proc``, ``sys`` and ``dev`` in it.
    """

    name = "host"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        descriptors = Descriptors()
        self._proc = KeptFiles(root / "proc", descriptors)
        self._cpu_folder = KeptFiles(root / "sys/devices/system/cpu", descriptors)
        self._shm_folder = str(root / "dev/shm")
        self._devices = Devices(root)
        self._cpu_users = CpuUsers(root)
        self._cpu_loads = CpuLoadMeter(self._each_cpu)

    def read(self) -> tuple[HostReading]:
        """One reading.

        Raises:
            SourceAbsent: without a ``/proc``.
        """
        if not (self._root / "proc").is_dir():
            raise SourceAbsent("there is no /proc here: is it mounted?")
        self._devices.refresh()
        missing: Missing = {}
        values = {
            **self._cpu(),
            **self._load(),
            **self._memory(),
            **self._swapped(),
            **self._pressure(missing),
            **self._shm(),
            **self._traffic(),
            **self._tcp(),
        }
        for name, value in values.items():
            if value is None:
                missing.setdefault(name, _UNREADABLE)
        loads = self._cpu_loads.read()
        if loads is None:
            missing["full_cpus"] = missing["cpu_loads"] = _NO_TWO_LOOKS
        users = self._cpu_users.read(values["cpu_busy_seconds"], values["cpu_total_seconds"])
        if users is None:
            missing["cpu_users"] = _CORES_TO_SPARE
        moment = time.monotonic()
        return (
            HostReading(
                monotonic_seconds=moment,
                missing=missing,
                cpu_users=users,
                full_cpus=loads.full if loads else None,
                cpu_loads=loads.loads if loads else None,
                **values,
            ),
        )

    def close(self) -> None:
        """Give all descriptors back."""
        self._proc.close()
        self._cpu_folder.close()
        self._devices.close()

    def _parsed(self, name: str, parse: Callable[[bytes], _Parsed]) -> _Parsed | None:
        try:
            if name in _OF_MANY_RECORDS:
                return parse(self._proc.read_whole(name))
            return parse(self._proc.read(name))
        except OSError:
            return None

    def _cpu(self) -> dict[str, Any]:
        ticks = self._parsed("stat", parse_cpu)
        return {
            "cpus": self._cpus(),
            "cpu_busy_seconds": ticks.busy / TICKS_PER_SECOND if ticks else None,
            "cpu_iowait_seconds": ticks.waiting / TICKS_PER_SECOND if ticks else None,
            "cpu_total_seconds": ticks.total / TICKS_PER_SECOND if ticks else None,
        }

    def _each_cpu(self) -> dict[int, OneCpu] | None:
        try:
            return parse_cpus(self._proc.read_whole("stat"))
        except OSError:
            return None

    def _cpus(self) -> int | None:
        try:
            online = parse_cpu_list(self._cpu_folder.read("online"))
        except OSError:
            return None
        return len(online) if online else None

    def _load(self) -> dict[str, Any]:
        loads = self._parsed("loadavg", parse_load) or (None, None, None)
        return dict(zip(("load_1m", "load_5m", "load_15m"), loads, strict=True))

    def _memory(self) -> dict[str, Any]:
        sizes = self._parsed("meminfo", lambda data: parse_fields(data, _MEMORY)) or (None,) * 4
        names = (
            "memory_total_bytes",
            "memory_available_bytes",
            "swap_total_bytes",
            "swap_free_bytes",
        )
        return {name: times(kibibytes, 1024) for name, kibibytes in zip(names, sizes, strict=True)}

    def _swapped(self) -> dict[str, Any]:
        pages = self._parsed("vmstat", lambda data: parse_fields(data, _SWAPPED)) or (None, None)
        return {
            name: times(count, _PAGE_BYTES)
            for name, count in zip(("swap_in_bytes", "swap_out_bytes"), pages, strict=True)
        }

    def _pressure(self, missing: Missing) -> dict[str, Any]:
        cpu, _ = self._pressure_of("cpu")
        memory, _ = self._pressure_of("memory")
        some_io, full_io = self._pressure_of("io")
        values = {
            "pressure_cpu_some_seconds": cpu,
            "pressure_memory_some_seconds": memory,
            "pressure_io_some_seconds": some_io,
            "pressure_io_full_seconds": full_io,
        }
        missing.update({name: _NO_PRESSURE for name, value in values.items() if value is None})
        return values

    def _pressure_of(self, resource: str) -> tuple[float | None, float | None]:
        try:
            return parse_pressure(self._proc.read(f"pressure/{resource}"))
        except OSError:
            return None, None

    def _shm(self) -> dict[str, Any]:
        try:
            size = os.statvfs(self._shm_folder)
        except OSError:
            return {"shm_total_bytes": None, "shm_free_bytes": None}
        return {
            "shm_total_bytes": size.f_blocks * size.f_frsize,
            "shm_free_bytes": size.f_bavail * size.f_frsize,
        }

    def _tcp(self) -> dict[str, Any]:
        sent, again = self._parsed("net/snmp", parse_tcp) or (None, None)
        return {"tcp_sent_segments": sent, "tcp_retransmitted_segments": again}

    def _traffic(self) -> dict[str, Any]:
        disks = self._parsed("diskstats", parse_disks)
        networks = self._parsed("net/dev", parse_networks)
        return {
            "disks": None if disks is None else self._devices.disks(disks),
            "networks": None if networks is None else self._devices.networks(networks),
        }


def make(_context: Context) -> HostSource:
    """For the registry."""
    return HostSource()
