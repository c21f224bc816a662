"""What ranks may have only so much of: descriptors, and room in the ``/dev/shm`` that they see.

A job that runs out of either dies without a word of why: "Too many open files", "received 0 items of
ancdata", "Bus error". Both are used up over minutes, so it is enough to look every ten seconds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ...model.process_readings import LimitsReading
from ...model.reading import Missing
from ..context import Context
from ..procfs.files import read_file
from ..procfs.text import parse_stat, same_start
from ..watchlist import Watchlist

_MOST_RANKS = 64
_MOST_COUNTED = 1 << 17
_SOFT_LIMIT = b"Max open files"
_DENIED = "the kernel shows it to the job's user and to root alone"
_NO_SHM = "the process has no /dev/shm"
_UNREADABLE = "/proc/PID/limits cannot be read"


class LimitsSource:
    """One reading per rank.

    Args:
        watchlist: says which processes are ranks.
        root: of the file system with ``proc`` in it.
    """

    name = "limits"
    rest_seconds = 10.0

    def __init__(self, watchlist: Watchlist, root: Path = Path("/")) -> None:
        self._watchlist = watchlist
        self._proc = root / "proc"
        self._is_real = root == Path("/")

    def read(self) -> tuple[LimitsReading, ...]:
        """Of all ranks, less those that have just ended."""
        return tuple(self._all())

    def close(self) -> None:
        """It holds nothing."""

    def _all(self) -> Iterator[LimitsReading]:
        for pid, started in islice(self._watchlist.ranks().items(), _MOST_RANKS):
            folder = self._proc / str(pid)
            try:
                found = self._read(folder, pid, started)
                stat = parse_stat(read_file(folder / "stat"))
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended
            if stat is not None and same_start(stat.start_time_seconds, started):
                yield found

    def _read(self, folder: Path, pid: int, started: float) -> LimitsReading:
        missing: Missing = {}
        limit = _open_files_limit(folder, missing)
        used = _open_files(folder, missing, sized=self._is_real)
        total, free = _shm(folder, missing)
        return LimitsReading(
            monotonic_seconds=time.monotonic(),
            missing=missing,
            pid=pid,
            start_time_seconds=started,
            open_files=used,
            open_files_limit=limit,
            shm_total_bytes=total,
            shm_free_bytes=free,
        )


def _open_files(folder: Path, missing: Missing, *, sized: bool) -> int | None:
    """Newer kernels (6.2) tell the number as the size of the folder; others are asked for all names."""
    try:
        size = (folder / "fd").stat().st_size if sized else 0
        if size:
            return size
        with os.scandir(folder / "fd") as names:
            return sum(1 for _ in islice(names, _MOST_COUNTED))
    except PermissionError:
        missing["open_files"] = _DENIED
        return None


def _open_files_limit(folder: Path, missing: Missing) -> int | None:
    try:
        lines = read_file(folder / "limits").splitlines()
    except PermissionError:
        missing["open_files_limit"] = _DENIED
        return None
    soft: list[bytes] = []
    for line in lines:
        if line.startswith(_SOFT_LIMIT):
            soft = line[len(_SOFT_LIMIT) :].split()
    if soft[:1] == [b"unlimited"]:
        return None
    if soft and soft[0].isdigit() and int(soft[0]):
        return int(soft[0])
    missing["open_files_limit"] = _UNREADABLE
    return None


def _shm(folder: Path, missing: Missing) -> tuple[int | None, int | None]:
    """Through its own root: a container has a ``/dev/shm`` of its own, often of 64 MB."""
    reason = ""
    try:
        found = os.statvfs(folder / "root/dev/shm")
    except PermissionError:
        reason = _DENIED
    except (FileNotFoundError, ProcessLookupError):
        folder.stat()  # raises where it is the process that is not there
        reason = _NO_SHM
    except OSError as error:
        reason = f"/dev/shm cannot be asked: {error.strerror}"
    else:
        if not found.f_blocks:
            return None, None  # mounted without a limit
        return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize
    missing["shm_total_bytes"] = missing["shm_free_bytes"] = reason
    return None, None


def make(context: Context) -> LimitsSource:
    """For the registry."""
    return LimitsSource(context.watchlist)
