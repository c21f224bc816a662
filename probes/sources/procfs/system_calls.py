"""The system call in which a thread is: its number's meaning on this machine, and what it was given."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from .files import read_file

PATH_BYTES = 1024
_PAGE_BYTES = 4096
_TEXT = re.compile(rb"(\d{1,4})((?: 0x[0-9a-f]+){6}) ")

Given = Literal["descriptor", "path", "path at", "poll", "select", "epoll", "futex", "time"]
"""Where a call has what it is about: a descriptor or a path first, a path second, a set of descriptors…"""


class Kind(NamedTuple):
    """One system call."""

    verb: str
    """What it does, for people."""
    given: Given


_CALLS: dict[str, tuple[Kind, dict[str, int]]] = {
    "read": (Kind("reads", "descriptor"), {"x86_64": 0, "aarch64": 63}),
    "write": (Kind("writes", "descriptor"), {"x86_64": 1, "aarch64": 64}),
    "open": (Kind("opens", "path"), {"x86_64": 2}),
    "close": (Kind("closes", "descriptor"), {"x86_64": 3, "aarch64": 57}),
    "stat": (Kind("looks at", "path"), {"x86_64": 4}),
    "fstat": (Kind("looks at", "descriptor"), {"x86_64": 5, "aarch64": 80}),
    "poll": (Kind("polls", "poll"), {"x86_64": 7}),
    "pread64": (Kind("reads", "descriptor"), {"x86_64": 17, "aarch64": 67}),
    "pwrite64": (Kind("writes", "descriptor"), {"x86_64": 18, "aarch64": 68}),
    "readv": (Kind("reads", "descriptor"), {"x86_64": 19, "aarch64": 65}),
    "writev": (Kind("writes", "descriptor"), {"x86_64": 20, "aarch64": 66}),
    "select": (Kind("polls", "select"), {"x86_64": 23}),
    "nanosleep": (Kind("sleeps", "time"), {"x86_64": 35, "aarch64": 101}),
    "connect": (Kind("connects to", "descriptor"), {"x86_64": 42, "aarch64": 203}),
    "accept": (Kind("accepts on", "descriptor"), {"x86_64": 43, "aarch64": 202}),
    "sendto": (Kind("sends to", "descriptor"), {"x86_64": 44, "aarch64": 206}),
    "recvfrom": (Kind("receives from", "descriptor"), {"x86_64": 45, "aarch64": 207}),
    "sendmsg": (Kind("sends to", "descriptor"), {"x86_64": 46, "aarch64": 211}),
    "recvmsg": (Kind("receives from", "descriptor"), {"x86_64": 47, "aarch64": 212}),
    "fcntl": (Kind("locks", "descriptor"), {"x86_64": 72, "aarch64": 25}),
    "flock": (Kind("locks", "descriptor"), {"x86_64": 73, "aarch64": 32}),
    "fsync": (Kind("syncs", "descriptor"), {"x86_64": 74, "aarch64": 82}),
    "fdatasync": (Kind("syncs", "descriptor"), {"x86_64": 75, "aarch64": 83}),
    "futex": (Kind("locks", "futex"), {"x86_64": 202, "aarch64": 98}),
    "getdents64": (Kind("lists", "descriptor"), {"x86_64": 217, "aarch64": 61}),
    "clock_nanosleep": (Kind("sleeps", "time"), {"x86_64": 230, "aarch64": 115}),
    "epoll_wait": (Kind("polls", "epoll"), {"x86_64": 232}),
    "openat": (Kind("opens", "path at"), {"x86_64": 257, "aarch64": 56}),
    "newfstatat": (Kind("looks at", "path at"), {"x86_64": 262, "aarch64": 79}),
    "pselect6": (Kind("polls", "select"), {"x86_64": 270, "aarch64": 72}),
    "ppoll": (Kind("polls", "poll"), {"x86_64": 271, "aarch64": 73}),
    "epoll_pwait": (Kind("polls", "epoll"), {"x86_64": 281, "aarch64": 22}),
    "accept4": (Kind("accepts on", "descriptor"), {"x86_64": 288, "aarch64": 242}),
    "statx": (Kind("looks at", "path at"), {"x86_64": 332, "aarch64": 291}),
    "epoll_pwait2": (Kind("polls", "epoll"), {"x86_64": 441, "aarch64": 441}),
}


def numbers_of(names: Iterable[str]) -> Mapping[int, Kind]:
    """The calls of these names, by their numbers on this machine."""
    machine = os.uname().machine
    return {
        numbers[machine]: kind
        for kind, numbers in (_CALLS[name] for name in names)
        if machine in numbers
    }


def call_of(folder: str, known: Mapping[int, Kind]) -> tuple[Kind, tuple[int, ...]] | None:
    """The call that a thread is in, and its arguments; ``None`` where it runs, or is in none of these.

    Args:
        folder: of the thread or process in ``/proc``.
        known: the calls that are asked about.

    Raises:
        OSError: where it may not be read.
    """
    found = _TEXT.match(read_file(f"{folder}/syscall"))
    kind = known.get(int(found[1])) if found else None
    if found is None or kind is None:
        return None
    return kind, tuple(int(word, 16) for word in found[2].split())


def bytes_at(folder: str, address: int, count: int) -> bytes:
    """Of its memory, a page at a time: the next one may not be there.

    Raises:
        OSError: where it may not be read.
    """
    if not 0 < address < 1 << 63:
        return b""
    with Path(f"{folder}/mem").open("rb", buffering=0) as file:
        file.seek(address)
        return file.read(min(count, _PAGE_BYTES - address % _PAGE_BYTES)) or b""


def path_at(folder: str, address: int) -> str:
    """A path in its memory.

    Raises:
        OSError: where it may not be read.
    """
    data = bytes_at(folder, address, PATH_BYTES).partition(b"\0")[0]
    return data.decode("utf-8", "replace")
