"""The locked file for which a process looks again and again.

Whoever tries a lock, sleeps, and tries again holds nothing while it sleeps, and its try takes microseconds.
What is seen: the file is opened as often as the process wakes up, or it has it open all the time, and
another one holds a lock of it.
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
from .inotify import OpenCounts

_MOST_LOCKS = 32
_MOST_DESCRIPTORS = 1024
_LEAST_LOOKS = 5
_ALIKE = 0.8
"""Of the times that it wakes up; others may open the file too, so there is no upper limit."""
_AGAIN_SECONDS = 60.0


class PolledLock(NamedTuple):
    """A lock that somebody else holds."""

    path: str
    holder: int


class PolledLocks:
    """Finds the one that a process polls, over several looks.

    Args:
        pid: of the process.
        root: of the file system with ``proc`` in it.
    """

    def __init__(self, pid: int, root: Path = Path("/")) -> None:
        self._pid = pid
        self._root = root
        self._proc = f"{str(root).rstrip('/')}/proc"
        self._candidates: dict[str, PolledLock] = {}
        """By the descriptor of the holder, as a path."""
        self._counts: OpenCounts | None = None
        self._opened: dict[str, int] = {}
        self._first = 0
        self._found: PolledLock | None = None
        self._due = 0.0

    def close(self) -> None:
        """Watch no longer."""
        if self._counts is not None:
            self._counts.close()
            self._counts = None

    def look(self, switches: int) -> PolledLock | None:
        """What it polls, as far as that is known by now.

        Args:
            switches: how often its main thread has woken up.
        """
        if time.monotonic() >= self._due:
            self._begin(switches)
        if self._counts is None:
            self._found = None
            return None
        for path, times in self._counts.read().items():
            self._opened[path] = self._opened.get(path, 0) + times
        looks = switches - self._first
        if looks >= _LEAST_LOOKS:
            most = max(self._opened, key=self._opened.__getitem__, default="")
            enough = self._opened.get(most, 0) >= _ALIKE * looks
            self._found = self._candidates.get(most) if enough else None
        return self._found  # while it is counted anew, what was found before

    def _begin(self, switches: int) -> None:
        self.close()
        self._due = time.monotonic() + _AGAIN_SECONDS
        self._first, self._opened = switches, {}
        self._candidates = dict(self._locked())
        own = _open_files(f"{self._proc}/{self._pid}")
        for path, lock in self._candidates.items():
            if lock.path in own:
                self._opened[path] = 1 << 30  # it has it open already, and need not open it again
        if self._candidates:
            with contextlib.suppress(OSError):
                self._counts = OpenCounts(self._candidates)

    def _locked(self) -> Iterator[tuple[str, PolledLock]]:
        with contextlib.suppress(OSError):
            locks = [each for each in held_locks(self._root) if each.holder != self._pid]
            for lock in locks[:_MOST_LOCKS]:
                yield from self._file_of(lock)

    def _file_of(self, lock: FileLock) -> Iterator[tuple[str, PolledLock]]:
        """The holder's own descriptor of it: that has its name, in whatever mounts the holder sees."""
        if lock.holder is None:
            return
        folder = f"{self._proc}/{lock.holder}"
        with contextlib.suppress(OSError):
            for name in os.listdir(f"{folder}/fd")[:_MOST_DESCRIPTORS]:  # noqa: PTH208 - no Path per file
                info = read_file(f"{folder}/fdinfo/{name}")
                if b"\nlock:" in info and f":{lock.inode} ".encode() in info:
                    path = os.readlink(f"{folder}/fd/{name}".encode())  # noqa: PTH115
                    found = PolledLock(path.decode("utf-8", "replace"), lock.holder)
                    yield f"{folder}/fd/{name}", found
                    return


def _open_files(folder: str) -> frozenset[str]:
    found: set[str] = set()
    with contextlib.suppress(OSError):
        for name in os.listdir(f"{folder}/fd")[:_MOST_DESCRIPTORS]:  # noqa: PTH208 - as above
            with contextlib.suppress(OSError):
                link = os.readlink(f"{folder}/fd/{name}".encode())  # noqa: PTH115
                found.add(link.decode("utf-8", "replace"))
    return frozenset(found)
