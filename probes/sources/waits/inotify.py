"""How often files are opened, by the kernel's count of events; nothing is asked of whoever opens them."""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from collections import Counter
from collections.abc import Iterable

_OPENED = 0x20
_CLOSED = 0x18
"""Asked for as well: the kernel counts events of one kind that follow each other as one."""
_NON_BLOCKING = os.O_NONBLOCK | os.O_CLOEXEC
_EVENT = struct.Struct("=iIII")
_READ_BYTES = 1 << 16
_MOST_READS = 64
_ADD_SECONDS = 0.5
"""A file may lie on a mount that hangs: then it is not watched, and the thread that tried is left behind."""


class OpenCounts:
    """Counts how often some files are opened from now on."""

    def __init__(self, paths: Iterable[str]) -> None:
        """
        Raises:
            OSError: where the kernel gives out no more of these.
        """
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(_NON_BLOCKING)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "no inotify")
        self._paths: dict[int, str] = {}
        adding = threading.Thread(
            target=self._add, args=(libc, tuple(paths)), name="watched files", daemon=True
        )
        adding.start()
        adding.join(_ADD_SECONDS)

    def close(self) -> None:
        """Watch no longer."""
        os.close(self._descriptor)

    def read(self) -> Counter[str]:
        """How often each was opened since the last call."""
        found: Counter[str] = Counter()
        for _ in range(_MOST_READS):
            try:
                data = os.read(self._descriptor, _READ_BYTES)
            except BlockingIOError:
                break
            at = 0
            while at + _EVENT.size <= len(data):
                watch, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size + length
                if mask & _OPENED and watch in self._paths:
                    found[self._paths[watch]] += 1
        return found

    def _add(self, libc: ctypes.CDLL, paths: tuple[str, ...]) -> None:
        for path in paths:
            watch = libc.inotify_add_watch(self._descriptor, os.fsencode(path), _OPENED | _CLOSED)
            if watch >= 0:
                self._paths[watch] = path
