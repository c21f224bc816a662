"""One recording a node: two would cost twice and tell the same."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import Self

from ..inprocess.place import NoPlace, candidates, open_directory
from .segment import RecordingError

_NAME = "recording.lock"
_SAID_BYTES = 4096


class NodeLock:
    """Held while this user's recording of this node goes on; the kernel lets it go when we end.

    It lies in memory, where nothing hangs. Where there is no such place, nothing is locked.

    Args:
        what: is recorded: told to who comes second.

    Raises:
        RecordingError: when another one holds it.
    """

    def __init__(self, what: str) -> None:
        self._descriptor = _opened()
        if self._descriptor is None:
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            said = os.pread(self._descriptor, _SAID_BYTES, 0).decode("utf-8", "replace")
            self.close()
            raise RecordingError(
                f"this node is recorded already{f' ({said})' if said else ''}: one recording is enough"
            ) from error
        with contextlib.suppress(OSError):
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, os.fsencode(f"pid {os.getpid()}, {what}"), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let it go."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _opened() -> int | None:
    uid = os.geteuid()
    for path in candidates(dict(os.environ), uid):
        try:
            directory = open_directory(path, uid)
        except (OSError, NoPlace):
            continue
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            return os.open(_NAME, flags, 0o600, dir_fd=directory)
        except OSError:
            continue
        finally:
            os.close(directory)
    return None
