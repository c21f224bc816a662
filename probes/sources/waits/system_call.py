"""The system call in which a thread sleeps, with what it was given: the kernel shows it to who may trace it."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path
from typing import Literal, NamedTuple

from ..procfs.files import read_file

_TEXT = re.compile(rb"(\d{1,4})((?: 0x[0-9a-f]+){6}) ")
_MOST_DESCRIPTORS = 64
_PATH_BYTES = 1024
_POLLED = struct.Struct("=ihh")

Given = Literal["descriptor", "path", "path at", "poll", "select", "epoll", "futex", "time"]


class _Kind(NamedTuple):
    verb: str
    given: Given
    numbers: dict[str, int]


_KINDS = (
    _Kind("reads", "descriptor", {"x86_64": 0, "aarch64": 63}),
    _Kind("writes", "descriptor", {"x86_64": 1, "aarch64": 64}),
    _Kind("reads", "descriptor", {"x86_64": 19, "aarch64": 65}),
    _Kind("writes", "descriptor", {"x86_64": 20, "aarch64": 66}),
    _Kind("connects to", "descriptor", {"x86_64": 42, "aarch64": 203}),
    _Kind("accepts on", "descriptor", {"x86_64": 43, "aarch64": 202}),
    _Kind("sends to", "descriptor", {"x86_64": 44, "aarch64": 206}),
    _Kind("receives from", "descriptor", {"x86_64": 45, "aarch64": 207}),
    _Kind("sends to", "descriptor", {"x86_64": 46, "aarch64": 211}),
    _Kind("receives from", "descriptor", {"x86_64": 47, "aarch64": 212}),
    _Kind("accepts on", "descriptor", {"x86_64": 288, "aarch64": 242}),
    _Kind("locks", "descriptor", {"x86_64": 72, "aarch64": 25}),
    _Kind("locks", "descriptor", {"x86_64": 73, "aarch64": 32}),
    _Kind("opens", "path", {"x86_64": 2}),
    _Kind("opens", "path at", {"x86_64": 257, "aarch64": 56}),
    _Kind("polls", "poll", {"x86_64": 7}),
    _Kind("polls", "poll", {"x86_64": 271, "aarch64": 73}),
    _Kind("polls", "select", {"x86_64": 23}),
    _Kind("polls", "select", {"x86_64": 270, "aarch64": 72}),
    _Kind("polls", "epoll", {"x86_64": 232}),
    _Kind("polls", "epoll", {"x86_64": 281, "aarch64": 22}),
    _Kind("polls", "epoll", {"x86_64": 441, "aarch64": 441}),
    _Kind("locks", "futex", {"x86_64": 202, "aarch64": 98}),
    _Kind("sleeps", "time", {"x86_64": 35, "aarch64": 101}),
    _Kind("sleeps", "time", {"x86_64": 230, "aarch64": 115}),
)
_BY_NUMBER = {
    kind.numbers[machine]: kind
    for kind in _KINDS
    for machine in [os.uname().machine]
    if machine in kind.numbers
}


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
    found = _TEXT.match(read_file(f"{folder}/syscall"))
    kind = _BY_NUMBER.get(int(found[1])) if found else None
    if found is None or kind is None:
        return None
    given = tuple(int(word, 16) for word in found[2].split())
    match kind.given:
        case "descriptor":
            return SystemCall(kind.verb, given, (given[0],))
        case "path" | "path at":
            at = given[0] if kind.given == "path" else given[1]
            path = _bytes_at(folder, at, _PATH_BYTES).partition(b"\0")[0]
            return SystemCall(kind.verb, given, path=path.decode("utf-8", "replace"))
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
    data = _bytes_at(folder, address, _POLLED.size * count)
    whole = len(data) - len(data) % _POLLED.size
    return tuple(each for each, *_ in _POLLED.iter_unpack(data[:whole]) if each >= 0)


def _selected(folder: str, most: int, address: int) -> tuple[int, ...]:
    """Those that it wants to read."""
    if not address:
        return ()
    bits = int.from_bytes(_bytes_at(folder, address, (min(most, 1024) + 7) // 8), "little")
    found = [each for each in range(min(most, 1024)) if bits >> each & 1]
    return tuple(found[:_MOST_DESCRIPTORS])


def _in_epoll(folder: str, descriptor: int) -> tuple[int, ...]:
    words = [
        line.split() for line in read_file(f"{folder}/fdinfo/{descriptor}", 1 << 16).split(b"\n")
    ]
    found = [int(word[1]) for word in words if len(word) > 1 and word[0] == b"tfd:"]
    return tuple(found[:_MOST_DESCRIPTORS])


def _bytes_at(folder: str, address: int, count: int) -> bytes:
    """A page at a time: the next one may not be there."""
    if not 0 < address < 1 << 63:
        return b""
    with Path(f"{folder}/mem").open("rb", buffering=0) as file:
        file.seek(address)
        return file.read(min(count, 4096 - address % 4096)) or b""


def word_at(folder: str, address: int, count: int = 4) -> tuple[int, ...]:
    """So many 32-bit words of its memory; fewer where they are not there.

    Raises:
        OSError: where it may not be read.
    """
    data = _bytes_at(folder, address, 4 * count)
    return struct.unpack(f"={len(data) // 4}I", data[: len(data) // 4 * 4])
