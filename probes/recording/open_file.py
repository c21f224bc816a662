"""Opening files of a recording: nothing is followed, waited for, or written over by accident."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from .errors import RecordingError, reason


def open_to_read(path: Path) -> int:
    """A descriptor of that regular file.

    Raises:
        RecordingError: when it is something else, or cannot be opened.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise RecordingError(f"there is no recording {path}") from error
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise RecordingError(f"{path} is not a regular file") from error
        raise RecordingError(f"{path} cannot be opened: {reason(error)}") from error
    kind = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(kind):
        os.close(descriptor)
        what = "a directory" if stat.S_ISDIR(kind) else "not a regular file"
        help = f"; name a recording in it, such as {path / 'NAME'}" if stat.S_ISDIR(kind) else ""
        raise RecordingError(f"{path} is {what}{help}")
    return descriptor


def create(path: Path) -> int:
    """A descriptor of a new file for its owner's eyes alone.

    Raises:
        OSError: when it cannot be made; `FileExistsError` where something is there, also a link.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o600)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it at the end of the file.

    Raises:
        OSError: when not all of it could be written.
    """
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_folder(folder: Path) -> None:
    """Make new names in it last.

    Raises:
        OSError: when it cannot be opened.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
