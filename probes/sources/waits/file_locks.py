"""Who holds the file lock that a process waits for, by the kernel's own table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from ..procfs.files import read_file

_LINE = re.compile(
    rb"(\d+): (->)? *(\w+) +\w+ +\w+ +(-?\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) ", re.IGNORECASE
)
_MOST_BYTES = 1 << 20


class FileLock(NamedTuple):
    """A lock that somebody holds."""

    inode: int
    holder: int | None
    """Its pid here; ``None``: the table does not tell (a lock of an open file has no process)."""


def lock_awaited_by(pid: int, root: Path = Path("/")) -> FileLock | None:
    """``None``: it waits for none, or a PID namespace hides that.

    Raises:
        OSError: where the table is not readable.
    """
    table = read_file(root / "proc/locks", _MOST_BYTES)
    holders: dict[bytes, tuple[int, int]] = {}
    for found in _LINE.finditer(table):
        number, waits, _, owner, _, _, inode = found.groups()
        if not waits:
            holders[number] = (int(owner), int(inode))
        elif int(owner) == pid and number in holders:
            holder, held = holders[number]
            return FileLock(held, holder if holder > 0 else None)
    return None


def held_locks(root: Path = Path("/")) -> list[FileLock]:
    """All that somebody here holds.

    Raises:
        OSError: where the table is not readable.
    """
    found = (each.groups() for each in _LINE.finditer(read_file(root / "proc/locks", _MOST_BYTES)))
    held = [(int(owner), int(inode)) for _, waits, _, owner, _, _, inode in found if not waits]
    return [FileLock(inode, owner) for owner, inode in dict.fromkeys(held) if owner > 0]
