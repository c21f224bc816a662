"""The locked file for which a process looks again and again.

Whoever tries a lock, sleeps, and tries again holds nothing while it sleeps, and its try takes microseconds.
What is seen: it opens a file of which another one holds a lock, or has it open all the time.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..procfs.files import read_file
from .file_locks import FileLock, held_locks
from .opened_by import OpenReports

_MOST_LOCKS = 32
_MOST_DESCRIPTORS = 1024
_AGAIN_SECONDS = 60.0


class PolledLock(NamedTuple):
    """A lock that somebody else holds."""

    path: str
    holder: int
    opened: bool
    """It was seen to open the file; else it has it open, and may do something else with it."""


class PolledLocks:
    """Finds the one that a process tries, over several looks.

    Args:
        pid: of the process.
        root: of the file system with ``proc`` in it.
    """

    def __init__(self, pid: int, root: Path = Path("/")) -> None:
        self._pid = pid
        self._root = root
        self._proc = f"{str(root).rstrip('/')}/proc"
        self._locked: dict[tuple[int, int], PolledLock] = {}
        """By device and inode."""
        self._reports: OpenReports | None = None
        self._found: PolledLock | None = None
        self._due = 0.0

    def close(self) -> None:
        """Watch no longer."""
        if self._reports is not None:
            self._reports.close()
            self._reports = None

    def look(self) -> PolledLock | None:
        """What it tries, as far as that is known by now."""
        if time.monotonic() >= self._due:
            self._begin()
        for each in self._reports.read() if self._reports is not None else ():
            if each.pid == self._pid and each.file in self._locked:
                self._found = self._locked[each.file]._replace(opened=True)
        return self._found

    def _begin(self) -> None:
        """Which locks there are, and which of those files it has open."""
        self.close()
        self._due = time.monotonic() + _AGAIN_SECONDS
        links: list[str] = []
        self._locked = {}
        for link, file, lock in self._locks():
            links.append(link)
            self._locked[file] = lock
        if self._found is not None and self._found.path not in [
            each.path for each in self._locked.values()
        ]:
            self._found = None
        own = _open_files(f"{self._proc}/{self._pid}")
        if self._found is None:
            self._found = next((each for each in self._locked.values() if each.path in own), None)
        if links:
            with contextlib.suppress(OSError):
                self._reports = OpenReports(links)

    def _locks(self) -> Iterator[tuple[str, tuple[int, int], PolledLock]]:
        with contextlib.suppress(OSError):
            locks = [each for each in held_locks(self._root) if each.holder != self._pid]
            for lock in locks[:_MOST_LOCKS]:
                yield from self._file_of(lock)

    def _file_of(self, lock: FileLock) -> Iterator[tuple[str, tuple[int, int], PolledLock]]:
        """By the holder's own descriptor of it: that leads there whatever mounts the holder sees."""
        if lock.holder is None:
            return
        folder = f"{self._proc}/{lock.holder}"
        with contextlib.suppress(OSError):
            for name in os.listdir(f"{folder}/fd")[:_MOST_DESCRIPTORS]:  # noqa: PTH208 - no Path per file
                info = read_file(f"{folder}/fdinfo/{name}")
                if b"\nlock:" in info and f":{lock.inode} ".encode() in info:
                    link = f"{folder}/fd/{name}"
                    path = os.readlink(link.encode()).decode("utf-8", "replace")  # noqa: PTH115
                    file = (lock.device, lock.inode)
                    yield link, file, PolledLock(path, lock.holder, opened=False)
                    return


def _open_files(folder: str) -> frozenset[str]:
    found: set[str] = set()
    with contextlib.suppress(OSError):
        for name in os.listdir(f"{folder}/fd")[:_MOST_DESCRIPTORS]:  # noqa: PTH208 - as above
            with contextlib.suppress(OSError):
                link = os.readlink(f"{folder}/fd/{name}".encode())  # noqa: PTH115
                found.add(link.decode("utf-8", "replace"))
    return frozenset(found)
