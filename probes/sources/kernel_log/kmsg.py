"""``/dev/kmsg``: the kernel's log record by record, what was before and then what comes.

Under a root prefix it may be a file or a FIFO of the same text; of a file the newest part is read.
"""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

from ..protocol import SourceAbsent, SourceDenied, SourceError
from . import ring
from .lines import MOST_BYTES
from .refusal import DENIED

_KERNEL_LOG = os.makedev(1, 11)
_RECORD_BYTES = 8192
"""No record is longer; a smaller buffer would be refused."""
_MOST_RECORDS = 60_000
_MOST_CPU_SECONDS = 0.12
_MOST_CPU_SECONDS_AFTER = 0.02
_LOOK_EVERY = 512
_MOST_AFTER = 1 << 20
_NOT_THE_LOG = "/dev/kmsg is not the kernel's log here, as in many containers"


class Kmsg:
    """An open log.

    Args:
        root: of the file system with ``dev`` in it.
    """

    name = "kmsg"
    rest_seconds = 1.0

    def __init__(self, root: Path) -> None:
        """
        Raises:
            SourceError: it is not there, not the log, or may not be read.
        """
        path = root / "dev/kmsg"
        try:
            info = path.stat()
            if stat.S_ISCHR(info.st_mode) and info.st_rdev != _KERNEL_LOG:
                raise SourceAbsent(_NOT_THE_LOG)
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except PermissionError as error:
            raise SourceDenied(DENIED) from error
        except OSError as error:
            raise SourceAbsent(f"there is no /dev/kmsg here: {error.strerror}") from error
        self._device = stat.S_ISCHR(info.st_mode)
        self._file = stat.S_ISREG(info.st_mode)
        self._rest = b""
        """The beginning of a line of a file that has not ended yet."""
        self._at: int | None = None
        """Up to where a file was read."""
        self._begun = False

    def take(self) -> bytes:
        """What is new since the last call; at first what there was before.

        Raises:
            SourceError: when it can be read no more.
        """
        begun, self._begun = self._begun, True
        try:
            if self._device:
                return self._records(begun)
            most = _MOST_AFTER if begun else MOST_BYTES
            return self._whole_lines(self._of_file(most) if self._file else self._of_pipe(most))
        except PermissionError as error:
            raise SourceDenied(DENIED) from error
        except OSError as error:
            raise SourceError(f"/dev/kmsg cannot be read: {error.strerror}") from error

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._descriptor)

    def _records(self, begun: bool) -> bytes:
        if not begun and (ring.size() or 0) > MOST_BYTES:
            return self._newest(b"")
        most = _MOST_CPU_SECONDS_AFTER if begun else _MOST_CPU_SECONDS
        began, records = time.thread_time(), list[bytes]()
        for number in range(_MOST_RECORDS):
            try:
                records.append(os.read(self._descriptor, _RECORD_BYTES))
            except BlockingIOError:
                return b"".join(records)
            except BrokenPipeError:
                continue  # the oldest records were overwritten meanwhile
            if number % _LOOK_EVERY == 0 and time.thread_time() - began > most:
                break
        if not begun:
            return self._newest(b"".join(records))
        os.lseek(self._descriptor, 0, os.SEEK_END)  # a flood: what is left of it is passed over
        return b"".join(records)

    def _newest(self, read: bytes) -> bytes:
        """Where there is more than may be read: its end at once, and from there on what comes."""
        os.lseek(self._descriptor, 0, os.SEEK_END)
        try:
            return ring.newest(MOST_BYTES)
        except OSError:
            return read[-MOST_BYTES:]

    def _of_file(self, most: int) -> bytes:
        size = os.fstat(self._descriptor).st_size
        at = self._at
        if at is None or size < at:  # at first, or it was written anew
            at, self._rest = 0, b""
        if size - at > most:
            at, self._rest = size - most, b"\0"  # that line has no beginning
        self._at = size
        return os.pread(self._descriptor, size - at, at)

    def _of_pipe(self, most: int) -> bytes:
        pieces = list[bytes]()
        while most > 0:
            try:
                piece = os.read(self._descriptor, min(most, 1 << 16))
            except BlockingIOError:
                break
            if not piece:
                break
            pieces.append(piece)
            most -= len(piece)
        return b"".join(pieces)

    def _whole_lines(self, data: bytes) -> bytes:
        lines, newline, rest = (self._rest + data).rpartition(b"\n")
        self._rest = rest[-_RECORD_BYTES:]
        return lines + newline
