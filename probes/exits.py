"""How watched processes end, also those of other users, and after their parent has reaped them."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import select
import signal
import struct
import time

from .rank_reading import ExitReading
from .reading import Missing

KEPT_SECONDS = 600.0
_MOST_KEPT = 64
_GET_INFO = 0xC040FF0B
"""``PIDFD_GET_INFO`` with the first version of its structure, of 64 bytes."""
_INFO_EXIT = 1 << 3
_INFO = struct.Struct("=QQ11Ii")
_OOM_KILL = re.compile(rb"[Kk]illed process (\d+)")
_LOG_RECORDS = 4096
_OLD_KERNEL = "this kernel does not tell how a process of others ended (6.15 does)"


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

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._descriptor)

    def exit(self) -> ExitReading | None:
        """How it ended; ``None`` while it lives."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        if not poll.poll(0):
            return None
        status = _status_of(self._descriptor)
        ended_by = None if status is None else status & 0x7F or None
        missing: Missing = {}
        if status is None:
            missing = dict.fromkeys(("signal", "code"), _OLD_KERNEL)
        return ExitReading(
            pid=self.pid,
            start_time_seconds=self.start_time_seconds,
            monotonic_seconds=time.monotonic(),
            signal=ended_by,
            code=None if status is None or ended_by else status >> 8,
            killer="the kernel's OOM killer"
            if ended_by == signal.SIGKILL and self.pid in oom_killed()
            else "",
            missing=missing,
        )


def oom_killed(path: str = "/dev/kmsg") -> frozenset[int]:
    """Pids that the kernel log says were killed for want of memory; empty where it is not readable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return frozenset()
    pids: set[int] = set()
    try:
        for _ in range(_LOG_RECORDS):
            try:
                record = os.read(descriptor, 8192)
            except BrokenPipeError:
                continue  # the oldest records were overwritten meanwhile
            except OSError:
                break
            if not record:
                break
            pids.update(int(found) for found in _OOM_KILL.findall(record))
    finally:
        os.close(descriptor)
    return frozenset(pids)


def forget_old(exits: list[ExitReading]) -> list[ExitReading]:
    """Without those of long ago."""
    now = time.monotonic()
    return [each for each in exits if now - each.monotonic_seconds < KEPT_SECONDS][-_MOST_KEPT:]


def _status_of(descriptor: int) -> int | None:
    """As ``waitpid`` gives it. A zombie has none yet: its parent decides when that is."""
    buffer = bytearray(_INFO.pack(_INFO_EXIT, *[0] * 13))
    try:
        fcntl.ioctl(descriptor, _GET_INFO, buffer)
    except OSError as error:
        if error.errno in (errno.ENOTTY, errno.EINVAL, errno.ESRCH, errno.ENODATA):
            return None
        raise
    mask, *_, status = _INFO.unpack(bytes(buffer))
    return int(status) if mask & _INFO_EXIT else None
