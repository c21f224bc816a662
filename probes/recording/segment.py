"""One file of a recording: written by appending blocks, read by the heads of its blocks."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

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
_HEAD_BYTES = 1024
"""Enough for the frame and head of most blocks."""


class RecordingError(Exception):
    """It cannot be read or written. The text is one sentence for people."""


class Place(NamedTuple):
    """Where a block is in its file."""

    head: Head
    offset: int
    head_bytes: int
    data_bytes: int
    data_crc: int

    @property
    def data_offset(self) -> int:
        """Where its data begins."""
        return self.offset + FRAME.size + self.head_bytes

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.data_offset + self.data_bytes


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
                os.lseek(self._file, self.bytes, os.SEEK_SET)  # else the next one leaves a hole
            raise RecordingError(f"{self.path}: {error.strerror}") from error
        self.bytes += len(block)

    def replace(self, path: Path) -> None:
        """Take the place of another file, which is there or this one, whatever happens meanwhile.

        Raises:
            RecordingError: where that cannot be; the other one stays then.
        """
        try:
            os.fsync(self._file)
            self.path.replace(path)
        except OSError as error:
            raise RecordingError(f"{path}: {error.strerror}") from error
        self.path = path

    def close(self) -> None:
        """No more; may be called twice. A file without any block is removed."""
        if self._file < 0:
            return
        os.close(self._file)
        self._file = -1
        if not self.bytes:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)


def write_blocks(path: Path, blocks: Sequence[bytes]) -> int:
    """A new file of these; returns its bytes.

    Raises:
        RecordingError: where there is no block, such a file already, or it cannot be written.
    """
    if not blocks:
        raise RecordingError("nothing has come yet that could be written")
    writer = SegmentWriter(path)
    try:
        for block in blocks:
            writer.append(block)
    finally:
        writer.close()
    return writer.bytes


class Segment:
    """A file of blocks. It stays open: one that is replaced by its thinned self is read to its end.

    Raises:
        RecordingError: where it is no recording, or cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = 0
        """How many stretches of it are no blocks."""
        self._file = _opened(path)
        weakref.finalize(self, os.close, self._file)
        try:
            self.places: tuple[Place, ...] = tuple(self._scan())
            size = os.fstat(self._file).st_size
        except OSError as error:
            raise RecordingError(f"{path}: {error.strerror}") from error
        if not self.places:
            why = "it is empty" if size == 0 else "it has no block of one"
            raise RecordingError(f"{path} is not a gputop recording: {why}")

    def read(self, place: Place) -> list[Entry]:
        """What is in a block.

        Raises:
            BadBlock: where its bytes have changed, or cannot be read any more.
        """
        try:
            data = os.pread(self._file, place.data_bytes, place.data_offset)
        except OSError as error:
            raise BadBlock(f"it cannot be read: {error.strerror}") from error
        return decode(place.head, place.data_crc, data)

    def _scan(self) -> Iterator[Place]:
        """By the heads alone; where no block begins, from the next one on."""
        size = os.fstat(self._file).st_size
        place = self._place(0)
        if place is None:
            self.damaged += size > 0
            place = self._next(1)
        while place is not None:
            following = self._place(place.end) if place.end < size else None
            if following is None and place.end != size:
                # Bytes may be missing from this block: then the next one begins inside of it.
                self.damaged += 1
                following = self._next(place.data_offset)
            if place.end <= (size if following is None else following.offset):
                yield place
            place = following

    def _place(self, offset: int) -> Place | None:
        """The block that begins there, whose head is as it was written."""
        begin = os.pread(self._file, _HEAD_BYTES, offset)
        if len(begin) < FRAME.size:
            return None
        magic, head_bytes, data_bytes, data_crc, head_crc = FRAME.unpack_from(begin)
        if magic != MAGIC or head_bytes > MOST_HEAD_BYTES or data_bytes > MOST_DATA_BYTES:
            return None
        head = begin[FRAME.size : FRAME.size + head_bytes]
        if len(head) < head_bytes:
            head = os.pread(self._file, head_bytes, offset + FRAME.size)
        try:
            found = decode_head(head, data_bytes, data_crc, head_crc)
        except BadBlock:
            return None
        return Place(found, offset, head_bytes, data_bytes, data_crc)

    def _next(self, start: int) -> Place | None:
        """The first block that begins there or later."""
        while data := os.pread(self._file, _SEARCH_BYTES, start):
            at = data.find(MAGIC)
            while at >= 0:
                place = self._place(start + at)
                if place is not None:
                    return place
                at = data.find(MAGIC, at + 1)
            if len(data) < len(MAGIC):
                return None
            start += len(data) - len(MAGIC) + 1
        return None


def _opened(path: Path) -> int:
    """Without blocking on a FIFO, and nothing but a regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        what = os.strerror(errno.EISDIR) if path.is_dir() else "not a regular file"
        raise RecordingError(f"{path}: {what}")
    return descriptor
