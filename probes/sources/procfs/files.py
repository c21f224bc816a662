"""Small kernel files read again and again, through descriptors that stay open where that pays.

A kept descriptor saves the look-up of the path, which costs more than the read, and goes on meaning
the same process after its pid went to another one.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

_READ_BYTES = 8192
_WHOLE_BYTES = 1 << 20
_SHARE_OF_LIMIT = 0.4
_MOST_KEPT = 2048


class Descriptors:
    """How many files may be kept open at once: a part of what the process may open at all."""

    def __init__(self, most: int | None = None) -> None:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY:
            soft = _MOST_KEPT
        self._left = min(_MOST_KEPT, int(soft * _SHARE_OF_LIMIT)) if most is None else most

    def take(self) -> bool:
        """One more, if there is room."""
        if self._left <= 0:
            return False
        self._left -= 1
        return True

    def give_back(self, count: int = 1) -> None:
        """The opposite of `take`."""
        self._left += count


class KeptFiles:
    """The files of one folder that are read by name.

    Args:
        folder: of the files.
        descriptors: shared with others; without room the files are opened at each read.
    """

    def __init__(self, folder: Path | str, descriptors: Descriptors) -> None:
        self._folder = str(folder)
        self._descriptors = descriptors
        self._open: dict[str, int] = {}

    @property
    def folder(self) -> str:
        """Where they are."""
        return self._folder

    def read_whole(self, name: str) -> bytes:
        """All of a file of many records, which the kernel gives out a page at a time.

        Raises:
            OSError: when it is gone or may not be read.
        """
        data = piece = self.read(name)
        descriptor = self._open.get(name)
        if descriptor is None:
            return self.read_once(name, _WHOLE_BYTES)
        while piece and len(data) < _WHOLE_BYTES:
            piece = os.pread(descriptor, _READ_BYTES, len(data))
            data += piece
        return data

    def read(self, name: str, most: int = _READ_BYTES) -> bytes:
        """The beginning of a file as it is now: of one with a single record, all of it.

        Raises:
            OSError: when it is gone or may not be read.
        """
        descriptor = self._open.get(name)
        if descriptor is not None:
            return os.pread(descriptor, most, 0)
        descriptor = os.open(f"{self._folder}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            data = os.pread(descriptor, most, 0)
        except OSError:
            os.close(descriptor)
            raise
        if self._descriptors.take():
            self._open[name] = descriptor
        else:
            os.close(descriptor)
        return data

    def read_once(self, name: str, most: int = _READ_BYTES) -> bytes:
        """As `read`, for what is rarely read, and so not kept open. Reads on to the end."""
        return read_file(f"{self._folder}/{name}", most)

    def names(self, name: str) -> list[str]:
        """What is in a folder of it.

        Raises:
            OSError: when it is gone or may not be read.
        """
        return os.listdir(f"{self._folder}/{name}")  # noqa: PTH208 - no Path per file

    def link(self, name: str) -> str:
        """Where a link points to.

        Raises:
            OSError: when it is gone or may not be read.
        """
        # Bytes, for a path may be none in the encoding of this terminal.
        return os.readlink(f"{self._folder}/{name}".encode()).decode("utf-8", "replace")  # noqa: PTH115

    def close(self) -> None:
        """Give all descriptors back."""
        for descriptor in self._open.values():
            os.close(descriptor)
        self._descriptors.give_back(len(self._open))
        self._open.clear()

    def __del__(self) -> None:
        self.close()


def read_file(path: Path | str, most: int = _READ_BYTES) -> bytes:
    """Up to ``most`` bytes of a file, read to the end: the kernel may give a long one in pieces.

    Raises:
        OSError: when it is gone or may not be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces: list[bytes] = []
        while most > 0 and (piece := os.read(descriptor, min(most, 1 << 16))):
            pieces.append(piece)
            most -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


class Gone(Exception):
    """The process has ended, or its pid belongs to another one by now."""
