"""How watched processes end, also those of other users, and after their parent has reaped them."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import struct
import time
from pathlib import Path

from ...model.rank_readings import ExitReading
from ...model.reading import Missing
from ..procfs.text import parse_stat, same_start

KEPT_SECONDS = 600.0
_MOST_KEPT = 64
_GET_INFO = 0xC040FF0B
"""``PIDFD_GET_INFO`` with the first version of its structure, of 64 bytes."""
_INFO_EXIT = 1 << 3
_INFO = struct.Struct("=QQ11Ii")
_OLD_KERNEL = "this kernel does not tell how a process of others ended (6.15 does)"
_NOT_REAPED = "its parent has not asked how it ended, and until then only its own user is reported"
UNREAPED_SECONDS = 10.0
"""So long a parent is waited for that has not asked yet; torchrun asks ten times a second."""


class Watched:
    """A descriptor that means one process for ever, and is readable once that has ended."""

    def __init__(self, pid: int, start_time_seconds: float) -> None:
        """
        Raises:
            OSError: when there is no such process.
        """
        self.pid = pid
        self.start_time_seconds = start_time_seconds
        self._descriptor = os.pidfd_open(pid)
        self._ended_at: float | None = None

    @property
    def over(self) -> bool:
        """It has ended, whether or not it is known how."""
        return self._ended_at is not None

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._descriptor)

    def exit(self) -> ExitReading | None:
        """How it ended; ``None`` while it lives, and for a while where nobody is reported how yet."""
        if self._ended_at is None:
            poll = select.poll()
            poll.register(self._descriptor, select.POLLIN)
            if not poll.poll(0):
                return None
            self._ended_at = time.monotonic()
        # In this order: it may be reaped in between.
        unreaped, status = self._as_zombie()
        reported = _status_of(self._descriptor)
        status = status if reported is None else reported
        if status is None and unreaped and time.monotonic() - self._ended_at < UNREAPED_SECONDS:
            return None
        ended_by = None if status is None else status & 0x7F or None
        missing: Missing = {}
        if status is None:
            why = _NOT_REAPED if unreaped else _OLD_KERNEL
            missing = dict.fromkeys(("signal", "code"), why)
        return ExitReading(
            pid=self.pid,
            start_time_seconds=self.start_time_seconds,
            monotonic_seconds=self._ended_at,
            signal=ended_by,
            code=None if status is None or ended_by else status >> 8,
            missing=missing,
        )

    def _as_zombie(self) -> tuple[bool, int | None]:
        """Whether its parent has still to ask for it; and its status, which the kernel shows to few.

        To others it shows 0, so that 0 means nothing.
        """
        try:
            data = Path(f"/proc/{self.pid}/stat").read_bytes()
        except OSError:
            return False, None
        stat = parse_stat(data)
        if stat is None or stat.state != "Z":
            return False, None
        if not same_start(stat.start_time_seconds, self.start_time_seconds):
            return False, None  # its pid has been given to another one
        return True, stat.exit_status or None


def forget_old(exits: list[ExitReading]) -> list[ExitReading]:
    """Without those of long ago."""
    now = time.monotonic()
    return [each for each in exits if now - each.monotonic_seconds < KEPT_SECONDS][-_MOST_KEPT:]


def _status_of(descriptor: int) -> int | None:
    """As ``waitpid`` gives it; ``None`` until the parent has asked, and from older kernels always."""
    buffer = bytearray(_INFO.pack(_INFO_EXIT, *[0] * 13))
    try:
        fcntl.ioctl(descriptor, _GET_INFO, buffer)
    except OSError as error:
        if error.errno in (errno.ENOTTY, errno.EINVAL, errno.ESRCH, errno.ENODATA):
            return None
        raise
    mask, *_, status = _INFO.unpack(bytes(buffer))
    return int(status) if mask & _INFO_EXIT else None
