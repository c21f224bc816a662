"""The kernel's texts about a process, parsed. Each parser takes any bytes and never raises."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_MAX_DIGITS = 19
_SAME_START_SECONDS = 0.02
LARGEST = 2**63 - 1
"""Number that can travel in a sample."""
_MOST_CPUS = 8192
_KERNEL_THREAD_FLAG = 0x00200000
_MIN_STAT_FIELDS = 22
_OCTAL = re.compile(r"\\([0-7]{3})")
_MASK = re.compile(rb"[0-9a-f]{1,32}")


class Stat(NamedTuple):
    """The fields used of ``/proc/PID/stat``."""

    name: str
    state: str
    parent_pid: int
    kernel_thread: bool
    major_faults: int | None
    cpu_ticks: int | None
    threads: int | None
    start_ticks: int
    rss_pages: int | None
    exit_status: int | None = None
    """Of a zombie, as ``waitpid`` gives it; 0 also where the kernel does not show it to this user."""

    @property
    def start_time_seconds(self) -> float:
        """Since boot."""
        return self.start_ticks / TICKS_PER_SECOND


class Status(NamedTuple):
    """The fields used of ``/proc/PID/status``."""

    user_id: int | None = None
    namespace_pids: tuple[int, ...] = ()
    allowed_cpus: frozenset[int] | None = None


def same_start(one: float, other: float) -> bool:
    """Whether two start times, in seconds, are of one process: ticks of the clock make both coarse."""
    return abs(one - other) < _SAME_START_SECONDS


def text(data: bytes) -> str:
    """Kernel text, which may hold anything that a user named a file or a process."""
    return data.decode("utf-8", "replace")


def name_text(name: str) -> str:
    """The name of a file as Python gives it, without the bytes that are no UTF-8: they cannot travel."""
    return text(os.fsencode(name))


def unescape(field_text: str) -> str:
    """A path of ``mountinfo`` without its escapes."""
    return _OCTAL.sub(lambda found: chr(int(found[1], 8)), field_text)


def number(data: bytes) -> int | None:
    """A count as the kernel writes it; ``None`` where it is none, or could not travel."""
    if not data.isdigit() or len(data) > _MAX_DIGITS:
        return None
    value = int(data)
    return value if value <= LARGEST else None


def times(count: int | None, unit: int) -> int | None:
    """So many units, such as pages or kibibytes; ``None`` where that could not travel."""
    return count * unit if count is not None and count <= LARGEST // unit else None


def parse_stat(data: bytes) -> Stat | None:
    """``None`` where it is not a whole line: the process may be ending just now."""
    # The name may hold spaces, parentheses and newlines, so the last parenthesis ends it.
    opened, closed = data.find(b"("), data.rfind(b")")
    fields = data[closed + 1 :].split(None, _MIN_STAT_FIELDS)
    if not 0 < opened < closed or len(fields) < _MIN_STAT_FIELDS:
        return None
    parent, started = number(fields[1]), number(fields[19])
    if parent is None or started is None or not fields[0].isalpha():
        return None
    user, system = number(fields[11]), number(fields[12])
    return Stat(
        text(data[opened + 1 : closed]),
        text(fields[0][:1]),
        parent,
        bool((number(fields[6]) or 0) & _KERNEL_THREAD_FLAG),
        number(fields[9]),
        None if user is None or system is None else user + system,
        number(fields[17]),
        started,
        number(fields[21]),
        number(data.split()[-1]) if fields[0] == b"Z" else None,
    )


def parse_status(data: bytes) -> Status:
    """What is missing or odd is ``None``, or empty."""
    users = _field(data, b"Uid:").split()
    pids = [number(word) for word in _field(data, b"NSpid:").split()]
    return Status(
        user_id=number(users[0]) if users else None,
        namespace_pids=tuple(pid for pid in pids if pid is not None),
        allowed_cpus=parse_cpu_list(_field(data, b"Cpus_allowed_list:")),
    )


def parse_switches(status: bytes) -> tuple[int | None, int | None]:
    """Voluntary and involuntary context switches, of the main thread, out of ``status``."""
    return (
        number(_field(status, b"voluntary_ctxt_switches:")),
        number(_field(status, b"nonvoluntary_ctxt_switches:")),
    )


def parse_pending_signals(status: bytes) -> frozenset[int]:
    """Signals sent to the process or its main thread that it has not acted on, out of ``status``."""
    pending: set[int] = set()
    for name in (b"SigPnd:", b"ShdPnd:"):
        mask = _field(status, name)
        bits = int(mask, 16) if _MASK.fullmatch(mask) else 0
        pending.update(bit + 1 for bit in range(bits.bit_length()) if bits >> bit & 1)
    return frozenset(pending)


def parse_io(data: bytes) -> tuple[int | None, int | None]:
    """Bytes read from and written to storage, out of ``/proc/PID/io``."""
    return number(_field(data, b"read_bytes:")), number(_field(data, b"write_bytes:"))


def parse_run_delay(schedstat: bytes) -> float | None:
    """Seconds, out of ``/proc/PID/schedstat``."""
    fields = schedstat.split()
    delay = number(fields[1]) if len(fields) > 1 else None
    return None if delay is None else delay / 1e9


def parse_wait_channel(data: bytes) -> str | None:
    """``None`` where it does not sleep, or may not be seen: the kernel writes 0 for both."""
    channel = text(data.strip())
    return channel if channel not in ("", "0") else None


def parse_command(data: bytes) -> tuple[str, ...]:
    """The argument vector; empty for a kernel thread or a zombie."""
    # A process that set its title has no or many zeros at the end.
    return tuple(text(word) for word in data.rstrip(b"\0").split(b"\0")) if data else ()


def parse_pids(data: bytes) -> tuple[int, ...]:
    """Out of ``/proc/PID/task/TID/children``."""
    return tuple(pid for word in data.split() if (pid := number(word)) is not None)


def parse_cpu_list(data: bytes) -> frozenset[int] | None:
    """A list such as ``0-3,8``."""
    cpus: set[int] = set()
    for part in data.strip().split(b","):
        first, dash, last = part.partition(b"-")
        low, high = number(first), number(last if dash else first)
        if low is None or high is None or not low <= high < _MOST_CPUS:
            return None
        cpus.update(range(low, high + 1))
    return frozenset(cpus)


def parse_fields(data: bytes, names: Iterable[bytes]) -> tuple[int | None, ...]:
    """The number after each name at the beginning of a line, as in ``/proc/meminfo``."""
    return tuple(number_after(data, name) for name in names)


def number_after(data: bytes, name: bytes) -> int | None:
    """The one after this name at the beginning of a line."""
    words = _field(data, name).split(None, 1)
    return number(words[0]) if words else None


def _field(data: bytes, name: bytes) -> bytes:
    """The rest of the line that begins with ``name``."""
    if data.startswith(name):
        start = len(name)
    else:
        start = data.find(b"\n" + name)
        if start < 0:
            return b""
        start += len(name) + 1
    end = data.find(b"\n", start)
    return data[start : end if end >= 0 else len(data)].strip()
