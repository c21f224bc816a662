"""One file of a recording: written by appending blocks, read by the heads of its blocks."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from .block import (
    FRAME,
    MAGIC,
    MOST_DATA_BYTES,
    MOST_HEAD_BYTES,
    BadBlock,
    Entry,
    Head,
    decode,
    decode_head,
)

SUFFIX = ".gtop"
_SEARCH_BYTES = 1 << 20


class RecordingError(Exception):
    """It cannot be read or written. The text is one sentence for people."""


class Place(NamedTuple):
    """Where a block is in its file."""

    head: Head
    offset: int
    head_bytes: int
    data_bytes: int
    data_crc: int


class SegmentWriter:
    """Appends blocks to a new file, each of which is on the disk when `append` returns.

    Raises:
        RecordingError: where there is such a file already, or none can be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._file = os.open(path, flags, 0o600)
        except OSError as error:
            raise RecordingError(f"{path}: {error.strerror}") from error
        self.bytes = 0

    def append(self, block: bytes) -> None:
        """One more block; what of it was written before an error is taken back.

        Raises:
            RecordingError: where it cannot be written: the file ends after the last whole block then.
        """
        try:
            done = 0
            while done < len(block):
                done += os.write(self._file, block[done:])
            os.fdatasync(self._file)
        except OSError as error:
            with contextlib.suppress(
                OSError
            ):  # a block that is cut off is skipped by whoever reads
                os.ftruncate(self._file, self.bytes)
            raise RecordingError(f"{self.path}: {error.strerror}") from error
        self.bytes += len(block)

    def close(self) -> None:
        """No more; may be called twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class Segment:
    """A file of blocks.

    Raises:
        RecordingError: where it is no recording, or cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = 0
        """How many stretches of it are no blocks, or blocks whose bytes have changed."""
        with _opened(path) as file:
            self.places: tuple[Place, ...] = tuple(self._scan(file))
        if not self.places:
            empty = path.stat().st_size == 0
            why = "it is empty" if empty else "no block of a recording is in it"
            raise RecordingError(f"{path} is no recording: {why}")

    def read(self, place: Place) -> list[Entry]:
        """What is in a block.

        Raises:
            BadBlock: where its bytes have changed.
            RecordingError: where the file is not there any more.
        """
        with _opened(self.path) as file:
            file.seek(place.offset + FRAME.size + place.head_bytes)
            data = file.read(place.data_bytes)
        return decode(place.head, place.data_crc, data)

    def _scan(self, file: BinaryIO) -> Iterator[Place]:
        """By the heads alone; where no block begins, from the next magic on."""
        size = os.fstat(file.fileno()).st_size
        offset = 0
        while offset + FRAME.size <= size:
            place = self._place(file, offset, size)
            if place is not None:
                yield place
                offset = place.offset + FRAME.size + place.head_bytes + place.data_bytes
                continue
            self.damaged += 1
            found = self._next_magic(file, offset + 1)
            if found is None:
                return
            offset = found
        self.damaged += offset < size

    def _place(self, file: BinaryIO, offset: int, size: int) -> Place | None:
        file.seek(offset)
        frame = file.read(FRAME.size)
        magic, head_bytes, data_bytes, data_crc, head_crc = FRAME.unpack(frame)
        if magic != MAGIC or head_bytes > MOST_HEAD_BYTES or data_bytes > MOST_DATA_BYTES:
            return None
        if offset + FRAME.size + head_bytes + data_bytes > size:
            return None
        try:
            head = decode_head(file.read(head_bytes), data_bytes, data_crc, head_crc)
        except BadBlock:
            return None
        return Place(head, offset, head_bytes, data_bytes, data_crc)

    def _next_magic(self, file: BinaryIO, start: int) -> int | None:
        file.seek(start)
        kept = b""
        at = start
        while data := file.read(_SEARCH_BYTES):
            found = (kept + data).find(MAGIC)
            if found >= 0:
                return at - len(kept) + found
            at += len(data)
            kept = (kept + data)[-(len(MAGIC) - 1) :]
        return None


def _opened(path: Path) -> BinaryIO:
    """Without blocking on a FIFO, and nothing but a regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        what = os.strerror(errno.EISDIR) if path.is_dir() else "not a regular file"
        raise RecordingError(f"{path}: {what}")
    return os.fdopen(descriptor, "rb")
