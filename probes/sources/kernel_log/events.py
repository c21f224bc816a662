"""What a line of the kernel's log says. Patterns begin where the line does, so that no name of a process
or disk in the middle of another line can pass for one."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from ...model.kernel_log import KernelLogKind, KernelLogLevel
from .lines import LogLine
from .patterns import (
    ADAPTER_FATAL,
    BUS,
    CIFS,
    CONTAINED,
    CPU_HEAT,
    DISK,
    EXT4_ERROR,
    FILE_SYSTEM,
    GPU_FAULT,
    HUNG,
    KILLED,
    LOCKUP,
    MODULE,
    NFS,
    NOT_RECOVERED,
    OOM,
    PORT_DOWN,
    SXID,
    UNCORRECTED,
    XID,
)

_KIB = 1024
_LARGEST_PID = 1 << 22
_LARGEST_CODE = 0xFFFFF


class Told(NamedTuple):
    """What one line says."""

    kind: KernelLogKind
    level: KernelLogLevel = ""
    pci_bus_id: str | None = None
    subject: str | None = None
    code: int | None = None
    pid: int | None = None
    command_name: str | None = None
    limited: bool = False
    """It was killed for the limit of its control group."""
    anonymous_bytes: int | None = None


class OomGroups(NamedTuple):
    """Which control groups the kernel names before it kills."""

    pid: int
    cgroup: str | None
    limited_cgroup: str | None


_Tell = Callable[[re.Match[str]], Told | OomGroups | None]


def told(line: LogLine) -> Told | OomGroups | None:
    """What it says; ``None`` where that is nothing of interest."""
    for pattern, tell in _tellers():
        found = pattern.match(line.text)
        if found:
            return tell(found)
    return None


def _xid(found: re.Match[str]) -> Told | None:
    code = _whole(found["code"], _LARGEST_CODE)
    if code is None:
        return None
    return Told("xid", "", _bus(found["bus"]), None, code, _pid(found["pid"]), _name(found["name"]))


def _sxid(found: re.Match[str]) -> Told | None:
    code = _whole(found["code"], _LARGEST_CODE)
    level: KernelLogLevel = "nonfatal" if found["level"].lower().startswith("non") else "fatal"
    return None if code is None else Told("sxid", level, _bus(found["bus"]), found["name"], code)


def _gpu_fault(found: re.Match[str]) -> Told:
    return Told("gpu fault", "fatal", _bus(found["bus"]))


def _bus_error(found: re.Match[str]) -> Told:
    return Told("pcie error", _level(found["level"]), _bus(found["bus"]))


def _uncorrected(found: re.Match[str]) -> Told:
    return Told("pcie error", _level(found["level"]), _bus(found["source"] or found["bus"]))


def _port_error(found: re.Match[str]) -> Told:
    return Told("pcie error", "fatal", _bus(found["bus"]))


def _contained(found: re.Match[str]) -> Told:
    return Told("pcie error", "nonfatal", _bus(found["bus"]))


def _adapter_fatal(found: re.Match[str]) -> Told:
    return Told("adapter fault", "fatal", _bus(found["bus"]), found["name"])


def _module(found: re.Match[str]) -> Told:
    return Told("port module", "nonfatal", _bus(found["bus"]), found["name"])


def _port_down(found: re.Match[str]) -> Told:
    return Told("port down", "", _bus(found["bus"]), found["name"])


def _oom(found: re.Match[str]) -> OomGroups | None:
    pid = _pid(found["pid"])
    return None if pid is None else OomGroups(pid, found["task"], found["limited"])


def _killed(found: re.Match[str]) -> Told | None:
    pid, kib = _pid(found["pid"]), _whole(found["anon"], 1 << 50)
    if pid is None:
        return None
    return Told(
        "oom kill",
        pid=pid,
        command_name=found["name"],
        limited=found["limited"] is not None,
        anonymous_bytes=None if kib is None else kib * _KIB,
    )


def _hung(found: re.Match[str]) -> Told:
    return Told("hung task", pid=_pid(found["pid"]), command_name=found["name"])


def _lockup(found: re.Match[str]) -> Told:
    return Told("cpu lockup", pid=_pid(found["pid"]), command_name=found["name"])


def _server(found: re.Match[str]) -> Told:
    kind: KernelLogKind = "server responds" if found["ok"] else "server not responding"
    return Told(kind, subject=found["server"].strip("\\"))


def _file_system(found: re.Match[str]) -> Told:
    return Told("file system error", subject=found["name"])


def _disk(found: re.Match[str]) -> Told:
    return Told("disk error", subject=found[found.lastgroup or 0])


def _cpu_heat(found: re.Match[str]) -> Told:
    return Told("cpu heat", subject=found["cpu"].lower())


_TELLERS: tuple[tuple[str, _Tell], ...] = (
    (XID, _xid),
    (SXID, _sxid),
    (GPU_FAULT, _gpu_fault),
    (BUS, _bus_error),
    (UNCORRECTED, _uncorrected),
    (CONTAINED, _contained),
    (NOT_RECOVERED, _port_error),
    (ADAPTER_FATAL, _adapter_fatal),
    (MODULE, _module),
    (PORT_DOWN, _port_down),
    (OOM, _oom),
    (KILLED, _killed),
    (HUNG, _hung),
    (LOCKUP, _lockup),
    (NFS, _server),
    (CIFS, _server),
    (EXT4_ERROR, _file_system),
    (FILE_SYSTEM, _file_system),
    (DISK, _disk),
    (CPU_HEAT, _cpu_heat),
)
"""The first that fits says what it is."""


@cache
def _tellers() -> tuple[tuple[re.Pattern[str], _Tell], ...]:
    return tuple([(re.compile(pattern), tell) for pattern, tell in _TELLERS])


def _level(words: str) -> KernelLogLevel:
    words = words.lower()
    if words.startswith("correct"):
        return "corrected"
    return "nonfatal" if "non-fatal" in words or "nonfatal" in words else "fatal"


def _bus(bus: str | None) -> str | None:
    return bus.lower() if bus else None


def _name(name: str | None) -> str | None:
    return None if name is None or name.startswith("<") else name


def _pid(digits: str | None) -> int | None:
    return _whole(digits, _LARGEST_PID) or None


def _whole(digits: str | None, most: int) -> int | None:
    if not digits or not digits.isascii() or not digits.isdigit() or len(digits) > 18:
        return None
    return value if (value := int(digits)) <= most else None
