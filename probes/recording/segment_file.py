"""A segment that is being written: what stands in it are whole blocks, whatever fails."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from .names import segment_path, segments_of
from .open_file import create, sync_folder, write_all

_NAMES_TRIED = 100


class SegmentFile:
    """A new segment of a recording.

    Args:
        recording: its name, with the folder that the segment is to lie in.
        began_seconds: Unix time of its first sample.
        boot_id: of the boot that it is of.

    Raises:
        OSError: when it cannot be made.
    """

    def __init__(self, recording: Path, began_seconds: float, boot_id: str) -> None:
        self.began_seconds = began_seconds
        self.boot_id = boot_id
        self.path, self._descriptor = _new(recording, began_seconds)
        self.size_bytes = 0
        """Of its whole blocks."""
        with contextlib.suppress(OSError):
            sync_folder(self.path.parent)  # some file systems cannot

    def append(self, block: bytes) -> None:
        """Write a block, and wait until it lasts.

        Raises:
            OSError: when it could not be written; then what was begun of it is taken away again.
        """
        try:
            write_all(self._descriptor, block)
            os.fdatasync(self._descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self.size_bytes)
                os.lseek(self._descriptor, self.size_bytes, os.SEEK_SET)
            raise
        self.size_bytes += len(block)

    @property
    def removed(self) -> bool:
        """Whether it has no name any more: somebody took it away."""
        return os.fstat(self._descriptor).st_nlink == 0

    def close(self) -> None:
        """Let go of it. One without any block is removed."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        with contextlib.suppress(OSError):
            os.close(descriptor)
        if not self.size_bytes:
            with contextlib.suppress(OSError):
                self.path.unlink()


def _new(recording: Path, began_seconds: float) -> tuple[Path, int]:
    numbers = [each.number for each in segments_of(recording)]
    number = max(numbers, default=-1) + 1
    for more in range(_NAMES_TRIED):
        path = segment_path(recording, began_seconds, number + more)
        try:
            return path, create(path)
        except FileExistsError:
            continue  # another one was a moment faster
    raise FileExistsError(f"all names like {path} are taken")
