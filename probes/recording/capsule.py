"""The recording in a capsule, which is a zip: read as it is, with nothing unpacked to the disk."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path
from typing import BinaryIO

from .segment import SUFFIX, RecordingError

_MAGIC = b"PK\x03\x04"
_MOST_BYTES = 1 << 30
_PIECE_BYTES = 1 << 20


def unpacked(path: Path) -> Path | None:
    """Where the recording of a capsule can be opened; ``None`` where the file is no capsule.

    It lies in memory, for as long as this process lives.

    Raises:
        RecordingError: where it is one that cannot be read, or has no recording in it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None  # whoever opens recordings says why
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return None
        try:
            return _in_memory(path, file)
        except zipfile.BadZipFile:
            return None  # it was cut off: its recording is not packed, and its blocks are found as they are
        except (NotImplementedError, OSError, RuntimeError, EOFError) as error:
            raise RecordingError(f"{path} is no whole capsule: {error}") from error


def _in_memory(path: Path, file: BinaryIO) -> Path:
    with zipfile.ZipFile(file) as capsule:
        found = [each for each in capsule.infolist() if each.filename.endswith(SUFFIX)]
        if not found:
            raise RecordingError(f"{path} is no capsule: there is no recording in it")
        if found[0].file_size > _MOST_BYTES:
            raise RecordingError(f"{path}: the recording in it is larger than a capsule's can be")
        memory = os.memfd_create("gputop-capsule", os.MFD_CLOEXEC)
        with capsule.open(found[0]) as packed:
            left = found[0].file_size
            while left > 0 and (piece := packed.read(min(left, _PIECE_BYTES))):
                os.write(memory, piece)
                left -= len(piece)
    return Path(f"/proc/self/fd/{memory}")
