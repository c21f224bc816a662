"""One recording a node: two would cost twice and tell the same."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from typing import Self

from ..inprocess.place import NoPlace, candidates, open_directory
from .segment import RecordingError

_NAME = "recording.lock"
_SAID_BYTES = 4096 + 64
_TO = ", to "


class NodeLock:
    """Held while this user's recording of this node goes on; the kernel lets it go when we end.

    It lies in memory, where nothing hangs. Where there is no such place, nothing is locked.

    Args:
        name: of the recording: told to who comes second, and to who looks for it.

    Raises:
        RecordingError: when another one holds it.
    """

    def __init__(self, name: Path) -> None:
        self._descriptor = _opened(os.O_RDWR | os.O_CREAT)
        if self._descriptor is None:
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            said = _said(self._descriptor)
            self.close()
            raise RecordingError(
                f"this node is recorded already{f' ({said})' if said else ''}: one recording is enough"
            ) from error
        with contextlib.suppress(OSError):
            os.ftruncate(self._descriptor, 0)
            said = f"pid {os.getpid()}{_TO}{name.absolute()}"
            os.pwrite(self._descriptor, os.fsencode(said), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let it go."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def running_recording() -> Path | None:
    """The name of this user's recording of this node, if one goes on."""
    descriptor = _opened(os.O_RDONLY)
    if descriptor is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        name = _said(descriptor).partition(_TO)[2]
        return Path(name) if name else None
    finally:
        os.close(descriptor)
    return None


def _said(descriptor: int) -> str:
    return os.fsdecode(os.pread(descriptor, _SAID_BYTES, 0))


def _opened(access: int) -> int | None:
    uid = os.geteuid()
    for path in candidates(dict(os.environ), uid):
        if not access & os.O_CREAT and not Path(path).is_dir():
            continue  # who only looks makes no directory
        try:
            directory = open_directory(path, uid)
        except (OSError, NoPlace):
            continue
        try:
            flags = access | os.O_NOFOLLOW | os.O_CLOEXEC
            return os.open(_NAME, flags, 0o600, dir_fd=directory)
        except OSError:
            continue
        finally:
            os.close(directory)
    return None
