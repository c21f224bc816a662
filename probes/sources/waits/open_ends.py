"""Who else has a pipe, socket or file open: found by looking at the descriptors of all processes.

This is the dearest of all looks, so it is bounded in time, begins with the family of whoever waits, and
says whether it saw everybody: only then "nobody" may be said.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..procfs.files import read_file
from ..procfs.text import parse_pids

MOST_SECONDS = 0.25
_MOST_DESCRIPTORS = 4096
_MOST_PROCESSES = 8192
_FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""The kernel's own number for that of the whole machine."""


class OpenEnd(NamedTuple):
    """One process that has it open."""

    pid: int
    link: str
    """As `/proc/PID/fd` shows it: ``pipe:[77]``."""
    mode: int
    """``os.O_RDONLY``, ``os.O_WRONLY`` or ``os.O_RDWR``."""
    locks: bool
    """It holds a lock of the file by that descriptor."""


class Ends(NamedTuple):
    """All that was found."""

    found: tuple[OpenEnd, ...]
    all_seen: bool


def find_ends(links: Collection[str], first: Iterable[int] = (), root: Path = Path("/")) -> Ends:
    """Every process that has one of these open.

    Args:
        links: as descriptors show them.
        first: pids to begin with: the family of whoever waits.
        root: of the file system with ``proc`` in it.
    """
    proc = f"{str(root).rstrip('/')}/proc"
    wanted = frozenset(links)
    found: list[OpenEnd] = []
    deadline = time.monotonic() + MOST_SECONDS
    all_seen = _sees_all(proc)
    for pid in _in_order(proc, first):
        if time.monotonic() > deadline:
            return Ends(tuple(found), False)
        try:
            found += _of(f"{proc}/{pid}", pid, wanted)
        except PermissionError:
            all_seen = False
        except OSError:
            continue  # it has ended
    return Ends(tuple(found), all_seen)


def family_of(pid: int, root: Path = Path("/")) -> list[int]:
    """Itself and its children, by the kernel's list of them."""
    found = [pid]
    try:
        for task in (root / f"proc/{pid}/task").iterdir():
            found += parse_pids(read_file(task / "children", 1 << 16))
    except OSError:
        pass
    return found


def _sees_all(proc: str) -> bool:
    """In a container the processes of others are not shown at all."""
    try:
        return os.readlink(f"{proc}/self/ns/pid") == _FIRST_PID_NAMESPACE  # noqa: PTH115
    except OSError:
        return False


def _in_order(proc: str, first: Iterable[int]) -> Iterator[int]:
    seen = dict.fromkeys(first)
    yield from seen
    names = os.listdir(proc)[: 2 * _MOST_PROCESSES]  # noqa: PTH208 - no Path per process
    # The youngest first: who shares something with a job was mostly started with it.
    pids = sorted((int(name) for name in names if name.isdigit()), reverse=True)
    yield from (pid for pid in pids[:_MOST_PROCESSES] if pid not in seen)


def _of(folder: str, pid: int, wanted: frozenset[str]) -> Iterator[OpenEnd]:
    for name in os.listdir(f"{folder}/fd")[:_MOST_DESCRIPTORS]:  # noqa: PTH208 - as above
        try:
            link = os.readlink(f"{folder}/fd/{name}".encode()).decode("utf-8", "replace")  # noqa: PTH115
            if link in wanted:
                info = read_file(f"{folder}/fdinfo/{name}")
                yield OpenEnd(pid, link, _mode(info), b"\nlock:" in info)
        except FileNotFoundError:
            continue  # it was closed meanwhile


def _mode(info: bytes) -> int:
    for line in info.split(b"\n"):
        if line.startswith(b"flags:"):
            return int(line[6:].strip() or b"0", 8) & os.O_ACCMODE
    return os.O_RDWR
