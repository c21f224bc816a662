"""The kernel log: Xids, AER, kills and the like, also from before gputop started.

``/dev/kmsg`` gives it record by record; where this user may not open it, journald may give it to him. The
log may be long, or be written faster than anybody reads: what is read at a time is bounded.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from ...model.gpu_readings import XidReading
from ...model.kernel_readings import KernelEventReading
from ..context import Context
from ..protocol import SourceAbsent, SourceDenied
from .lines import WORTH_A_LOOK, read_line

_RECORD_BYTES = 8192
_MOST_SECONDS = 0.2
"""Of CPU for one look: the rest of a long log comes with the next ones."""
_MOST_KEPT = 64
"""Of Xids, and of all else, the newest."""
_KEPT_SECONDS = 7 * 86400.0
_RECORD = re.compile(rb"\d+,\d+,(\d+),[^;]*;([^\n]*)")
_JOURNAL = ("journalctl", "-k", "-b", "--no-pager", "-q", "-o", "short-monotonic")
_JOURNAL_LINES = 20_000
_JOURNAL_EVERY_SECONDS = 30.0
_JOURNAL_LINE = re.compile(rb"\[ *(\d+\.\d+)\] \S+ kernel: (.*)")
_DENIED = "the kernel log is for root: sudo sysctl kernel.dmesg_restrict=0, or put this user into the group systemd-journal"


class KernelLogSource:
    """What it has said, the newest of each kind.

    Args:
        root: of the file system with ``dev/kmsg`` in it.
    """

    name = "kernel log"
    rest_seconds = 2.0

    def __init__(self, root: Path = Path("/")) -> None:
        self._path = root / "dev/kmsg"
        self._is_real = root == Path("/")
        self._file = -1
        self._xids: deque[XidReading] = deque(maxlen=_MOST_KEPT)
        self._events: deque[KernelEventReading] = deque(maxlen=_MOST_KEPT)
        self._journal_due = 0.0
        self._journal_last = -1.0

    def read(self) -> tuple[XidReading | KernelEventReading, ...]:
        """All that is known now.

        Raises:
            SourceAbsent: where there is none.
            SourceDenied: where this user may not read it, in any way.
        """
        began = time.time() - time.clock_gettime(time.CLOCK_MONOTONIC)
        for since_boot, line in self._records():
            found = read_line(line.decode("utf-8", "replace"), began + since_boot)
            if found is not None and found.xid is not None:
                self._xids.append(found.xid)
            elif found is not None and found.event is not None:
                self._events.append(found.event)
        oldest = time.time() - _KEPT_SECONDS
        kept: list[XidReading | KernelEventReading] = [*self._xids, *self._events]
        return tuple(each for each in kept if each.time_seconds >= oldest)

    def close(self) -> None:
        """Give the file back."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _records(self) -> Iterator[tuple[float, bytes]]:
        """Seconds since boot and text of each new record that may matter."""
        if self._file < 0:
            try:
                self._file = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except FileNotFoundError as error:
                raise SourceAbsent("there is no /dev/kmsg here") from error
            except OSError as error:
                if not self._is_real:
                    raise SourceDenied(_DENIED) from error
                return self._of_journal()
        return self._of_kmsg()

    def _of_kmsg(self) -> Iterator[tuple[float, bytes]]:
        until = time.thread_time() + _MOST_SECONDS
        looked = 0
        while True:
            looked += 1
            if looked % 256 == 0 and time.thread_time() > until:
                return
            try:
                data = os.read(self._file, _RECORD_BYTES)
            except BrokenPipeError:
                continue  # the oldest records were overwritten meanwhile
            except BlockingIOError:
                return
            except OSError:
                self.close()  # opened anew with the next look
                return
            if not data:
                return
            if WORTH_A_LOOK.search(data):
                for found in _RECORD.finditer(data):
                    yield int(found[1]) / 1e6, found[2]

    def _of_journal(self) -> Iterator[tuple[float, bytes]]:
        now = time.monotonic()
        if now < self._journal_due:
            return iter(())
        first = self._journal_last < 0
        self._journal_due = now + _JOURNAL_EVERY_SECONDS
        newest = str(_JOURNAL_LINES) if first else "2000"
        try:
            done = subprocess.run(
                [*_JOURNAL, "-n", newest],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=10.0,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise SourceDenied(_DENIED) from error
        if not done.stdout:
            raise SourceDenied(_DENIED)
        return self._newer(done.stdout)

    def _newer(self, output: bytes) -> Iterator[tuple[float, bytes]]:
        last = self._journal_last
        for line in output.splitlines():
            found = _JOURNAL_LINE.match(line)
            if found is None:
                continue
            with contextlib.suppress(ValueError):
                since_boot = float(found[1])
                self._journal_last = max(self._journal_last, since_boot)
                if since_boot > last and WORTH_A_LOOK.search(line):
                    yield since_boot, found[2]


def make(_context: Context) -> KernelLogSource:
    """For the registry."""
    return KernelLogSource()
