"""Which processes open some files, as the kernel reports it to who may administer the machine (fanotify).

An open is only reported, never held up, and the files are not read.
"""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_NON_BLOCKING_CLOSED_ON_EXEC = 0x3
_ADD = 0x1
_OPENED = 0x20
_HERE = -100
"""``AT_FDCWD``: paths are as this process sees them."""
_EVENT = struct.Struct("=IBBHQii")
_READ_BYTES = 1 << 14
_MOST_READS = 64
_ADD_SECONDS = 0.5
"""A file may lie on a mount that hangs: then it is not watched, and the thread that tried is left behind."""


class Opening(NamedTuple):
    """One process has opened one of the files."""

    pid: int
    file: tuple[int, int]
    """Device and inode."""


class OpenReports:
    """Reports who opens some files from now on."""

    def __init__(self, paths: Iterable[str]) -> None:
        """
        Raises:
            OSError: where this user may not, or the kernel cannot.
        """
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.fanotify_init(
            _NON_BLOCKING_CLOSED_ON_EXEC, os.O_RDONLY | os.O_CLOEXEC | os.O_LARGEFILE
        )
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "no fanotify")
        adding = threading.Thread(
            target=self._add, args=(libc, tuple(paths)), name="watched files", daemon=True
        )
        adding.start()
        adding.join(_ADD_SECONDS)

    def close(self) -> None:
        """Report no longer."""
        os.close(self._descriptor)

    def read(self) -> set[Opening]:
        """Since the last call."""
        found: set[Opening] = set()
        for _ in range(_MOST_READS):
            try:
                data = os.read(self._descriptor, _READ_BYTES)
            except OSError:
                break
            found.update(_events(data))
        return found

    def _add(self, libc: ctypes.CDLL, paths: tuple[str, ...]) -> None:
        for path in paths:
            libc.fanotify_mark(
                self._descriptor, _ADD, ctypes.c_uint64(_OPENED), _HERE, os.fsencode(path)
            )


def _events(data: bytes) -> Iterator[Opening]:
    at = 0
    while at + _EVENT.size <= len(data):
        length, _, _, _, _, descriptor, pid = _EVENT.unpack_from(data, at)
        if length < _EVENT.size:
            return
        at += length
        if descriptor >= 0:
            try:
                status = os.fstat(descriptor)
                yield Opening(pid, (status.st_dev, status.st_ino))
            finally:
                os.close(descriptor)
