"""The system call in which a thread sleeps, with what it was given: the kernel shows it to who may trace it."""

from __future__ import annotations

import struct
from typing import NamedTuple

from ..procfs.files import read_file
from ..procfs.system_calls import bytes_at, call_of, numbers_of, path_at

_MOST_DESCRIPTORS = 64
_POLLED = struct.Struct("=ihh")
_KNOWN = numbers_of(
    (
        *("read", "write", "readv", "writev", "open", "openat", "fcntl", "flock", "futex"),
        *("connect", "accept", "accept4", "sendto", "recvfrom", "sendmsg", "recvmsg"),
        *("poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"),
        *("nanosleep", "clock_nanosleep"),
    )
)


class SystemCall(NamedTuple):
    """What a thread asked the kernel for."""

    verb: str
    arguments: tuple[int, ...]
    descriptors: tuple[int, ...] = ()
    path: str = ""
    """Of a file that it opens."""
    any_of: bool = False
    is_futex: bool = False
    is_sleep: bool = False


def system_call(folder: str) -> SystemCall | None:
    """Of the thread whose folder in ``/proc`` it is; ``None`` where it runs, or the call is none of these.

    Raises:
        OSError: where it may not be read. Nothing is read of a thread that cannot be interrupted.
    """
    found = call_of(folder, _KNOWN)
    if found is None:
        return None
    kind, given = found
    match kind.given:
        case "descriptor":
            return SystemCall(kind.verb, given, (given[0],))
        case "path" | "path at":
            at = given[0] if kind.given == "path" else given[1]
            return SystemCall(kind.verb, given, path=path_at(folder, at))
        case "futex":
            return SystemCall(kind.verb, given, is_futex=True)
        case "time":
            return SystemCall(kind.verb, given, is_sleep=True)
        case "poll":
            return SystemCall(kind.verb, given, _polled(folder, given[0], given[1]), any_of=True)
        case "select":
            return SystemCall(kind.verb, given, _selected(folder, given[0], given[1]), any_of=True)
        case "epoll":
            return SystemCall(kind.verb, given, _in_epoll(folder, given[0]), any_of=True)


def _polled(folder: str, address: int, count: int) -> tuple[int, ...]:
    count = min(count, _MOST_DESCRIPTORS)
    data = bytes_at(folder, address, _POLLED.size * count)
    whole = len(data) - len(data) % _POLLED.size
    return tuple(each for each, *_ in _POLLED.iter_unpack(data[:whole]) if each >= 0)


def _selected(folder: str, most: int, address: int) -> tuple[int, ...]:
    """Those that it wants to read."""
    if not address:
        return ()
    bits = int.from_bytes(bytes_at(folder, address, (min(most, 1024) + 7) // 8), "little")
    found = [each for each in range(min(most, 1024)) if bits >> each & 1]
    return tuple(found[:_MOST_DESCRIPTORS])


def _in_epoll(folder: str, descriptor: int) -> tuple[int, ...]:
    words = [
        line.split() for line in read_file(f"{folder}/fdinfo/{descriptor}", 1 << 16).split(b"\n")
    ]
    found = [int(word[1]) for word in words if len(word) > 1 and word[0] == b"tfd:"]
    return tuple(found[:_MOST_DESCRIPTORS])


def word_at(folder: str, address: int, count: int = 4) -> tuple[int, ...]:
    """So many 32-bit words of its memory; fewer where they are not there.

    Raises:
        OSError: where it may not be read.
    """
    data = bytes_at(folder, address, 4 * count)
    return struct.unpack(f"={len(data) // 4}I", data[: len(data) // 4 * 4])
