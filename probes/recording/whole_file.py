"""A recording in one file, which is there whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from .errors import RecordingError, reason
from .open_file import create, sync_folder, write_all


def write_file(path: Path, blocks: Iterable[bytes], *, force: bool = False) -> int:
    """Write blocks to a file for its owner's eyes alone, and say how many bytes they were.

    Args:
        path: where to.
        blocks: what.
        force: write over a regular file that is there.

    Raises:
        RecordingError: when it cannot be written; what was begun is taken away again.
    """
    if force and path.exists() and not path.is_file():
        raise RecordingError(f"{path} is not a regular file: it is left as it is")
    beside = path.with_name(f".{path.name}.{os.getpid()}") if force else path
    try:
        descriptor = create(beside)
    except FileExistsError as error:
        raise RecordingError(f"{path} is there already: nothing is written over it") from error
    except OSError as error:
        raise RecordingError(f"{path} cannot be written: {reason(error)}") from error
    try:
        size = 0
        try:
            for block in blocks:
                write_all(descriptor, block)
                size += len(block)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if force:
            beside.rename(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise RecordingError(f"{path} cannot be written: {reason(error)}") from error
        raise
    with contextlib.suppress(OSError):
        sync_folder(path.parent)
    return size
