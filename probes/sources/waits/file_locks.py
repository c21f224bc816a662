"""Who holds the file lock that a process waits for, by the kernel's own table."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..procfs.files import read_file

_LINE = re.compile(
    rb"(\d+): (->)? *\w+ +\w+ +\w+ +(-?\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) ", re.IGNORECASE
)
_MOST_BYTES = 1 << 20


class FileLock(NamedTuple):
    """A lock that somebody holds."""

    device: int
    inode: int
    holder: int | None
    """Its pid here; ``None``: the table does not tell (a lock of an open file has no process)."""


class _Line(NamedTuple):
    number: int
    waits: bool
    owner: int
    lock: FileLock


def lock_awaited_by(pid: int, root: Path = Path("/")) -> FileLock | None:
    """``None``: it waits for none, or a PID namespace hides that.

    Raises:
        OSError: where the table is not readable.
    """
    held: dict[int, FileLock] = {}
    for line in _lines(root):
        if not line.waits:
            held[line.number] = line.lock
        elif line.owner == pid and line.number in held:
            return held[line.number]
    return None


def held_locks(root: Path = Path("/")) -> list[FileLock]:
    """All that a process here is known to hold.

    Raises:
        OSError: where the table is not readable.
    """
    found = [line.lock for line in _lines(root) if not line.waits]
    return list(dict.fromkeys(each for each in found if each.holder is not None))


def _lines(root: Path) -> Iterator[_Line]:
    for found in _LINE.finditer(read_file(root / "proc/locks", _MOST_BYTES)):
        number, waits, owner, major, minor, inode = found.groups()
        pid = int(owner)
        device = os.makedev(int(major, 16), int(minor, 16))
        lock = FileLock(device, int(inode), pid if pid > 0 else None)
        yield _Line(int(number), bool(waits), pid, lock)
