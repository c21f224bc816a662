"""What a collector needs to go on where the one before it ended, and when it may."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from ..wire.command import Attach, Command, Detach, SetInterval

FIRST_SECONDS, LONGEST_SECONDS = 1.0, 30.0


class Backoff:
    """How long to wait before each restart: twice as long each time, until one has lasted."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._started = 0.0
        """The last one, on the monotonic clock."""

    def next_seconds(self, now: float) -> float:
        """Seconds to wait after something has ended ``now``, on the monotonic clock."""
        lasted = now - self._started > LONGEST_SECONDS
        doubled = FIRST_SECONDS if lasted else 2 * self._seconds
        self._seconds = min(LONGEST_SECONDS, max(FIRST_SECONDS, doubled))
        self._started = now + self._seconds
        return self._seconds


class Requested:
    """What a collector was asked for, at the start and since.

    Args:
        interval_seconds: between samples.
        without: names of sources that it shall not use.
        pids: processes to watch.
    """

    def __init__(
        self, interval_seconds: float, without: Iterable[str], pids: Iterable[int]
    ) -> None:
        self.interval_seconds = interval_seconds
        self.without = tuple(without)
        self.pids = dict.fromkeys(pids)

    def note(self, command: Command) -> None:
        """Remember what a command changes for good."""
        match command:
            case SetInterval(seconds=seconds):
                self.interval_seconds = seconds
            case Attach(pid=pid):
                self.pids[pid] = None
            case Detach(pid=pid):
                self.pids.pop(pid, None)
            case _:
                pass

    def command(self, *, without_nvml: bool) -> list[str]:
        """The command line of a collector that does all this."""
        without = {*self.without, *(("nvml",) if without_nvml else ())}
        return [
            *(sys.executable, "-P", "-m", "gputop", "collect"),
            *("--interval", repr(self.interval_seconds)),
            *(word for name in sorted(without) for word in ("--without", name)),
            *(word for pid in self.pids for word in ("--pid", str(pid))),
        ]
