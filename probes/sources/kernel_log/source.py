"""The kernel's log as a source: what it told before this monitor was started, and what it tells now."""

from __future__ import annotations

import re
import time
from pathlib import Path

from ...model.kernel_log import KERNEL_LOG, KernelLogReading
from ...model.reading import Missing
from ..context import Context
from ..procfs.redaction import mask_text
from ..protocol import SourceError
from .events import OomGroups, told
from .kept import Event, Kept
from .lines import LogLine, matter
from .patterns import SUSPENDED
from .ways import Way, first_open

_AGAIN_SECONDS = 60.0
"""Between attempts where it may not be read."""
_INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""Its inode is the same on every Linux."""
_OTHER_PIDS = "the log has pids of the host, and this monitor sees those of its container"
_NO_TIMES = "the log has no times (printk.time=0)"
_MOST_TEXT = 300
_AFTER_OOM = 64
_SLEPT_SECONDS = 1.0
_MADE_AGAIN_SECONDS = 600.0
"""What has grown old is left out then, also where the log has nothing new."""


class KernelLogSource:
    """A reading per event.

    Args:
        root: of the file system with ``dev`` and ``proc`` in it.
    """

    name = KERNEL_LOG

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._way: Way | None = None
        self.rest_seconds = 0.0
        self._own_pids = True
        self._kept = Kept()
        self._groups: dict[int, OomGroups] = {}
        self._sleeps: list[tuple[float, float]] = []
        """When the log tells that the node has slept, and for how long."""
        self._seen: set[LogLine] = set()
        """Of a log that is given as a whole each time, the lines that were read."""
        self._last = 0.0
        """Monotonic seconds of the last read."""
        self._made: tuple[KernelLogReading, ...] = ()
        self._made_at = self._made_offset = 0.0

    def read(self) -> tuple[KernelLogReading, ...]:
        """What it told, the oldest first; of a storm the newest.

        Raises:
            SourceError: it may not be read, or there is none.
        """
        before = self._way is None
        data = self._open() if self._way is None else self._way.take()
        now = time.monotonic()
        changed = self._take(data, now, before)
        self._last = now
        offset = time.time() - now
        moved = abs(offset - self._made_offset) > _SLEPT_SECONDS
        if changed or moved or now - self._made_at > _MADE_AGAIN_SECONDS:
            asleep = _asleep_seconds()
            kept = self._kept.sent(now)
            self._made = tuple([self._reading(each, offset, asleep) for each in kept])
            self._made_at, self._made_offset = now, offset
        return self._made

    def close(self) -> None:
        """Give the log back."""
        if self._way is not None:
            self._way.close()
        self._way = None

    def _open(self) -> bytes:
        try:
            self._way, data = first_open(self._root)
        except SourceError:
            self.rest_seconds = _AGAIN_SECONDS
            raise
        self.rest_seconds = self._way.rest_seconds
        self._own_pids = _in_initial_namespace(self._root)
        return data

    def _take(self, data: bytes, now: float, before: bool) -> bool:
        """Keep what is new and of interest; whether there was any."""
        lines = matter(data)
        offset = time.time() - now
        changed = False
        for line in lines:
            if line in self._seen:
                continue
            changed |= self._line(line, self._moment(line, offset, now, before), before)
        if self._way is not None and self._way.name != "kmsg":
            self._seen = set(lines)
        return changed

    def _moment(self, line: LogLine, offset: float, now: float, before: bool) -> float | None:
        """On the monotonic clock. The log's own runs apart from it by seconds in weeks, so what comes
        while we look is held to the time since the last look."""
        if line.seconds is None:
            return None if before else now
        seconds = line.seconds - offset if line.unix else line.seconds
        return min(now, seconds) if before else min(now, max(seconds, self._last - 1.0))

    def _line(self, line: LogLine, moment: float | None, before: bool) -> bool:
        slept = re.match(SUSPENDED, line.text)
        if slept:
            if moment is not None and not line.unix:
                self._sleeps.append((moment, float(slept[1])))
            return bool(slept)
        said = told(line)
        if isinstance(said, OomGroups):
            if len(self._groups) > _AFTER_OOM:
                self._groups.clear()
            self._groups[said.pid] = said
            return False
        if said is None:
            return False
        event = Event(said, moment, before, line.text)
        if said.kind == "oom kill" and said.pid in self._groups:
            groups = self._groups.pop(said.pid)
            event.cgroups = (groups.cgroup, groups.limited_cgroup)
        self._kept.add(event)
        return True

    def _reading(self, event: Event, offset: float, asleep: float) -> KernelLogReading:
        said, missing = event.told, Missing()
        pid = said.pid
        if pid is not None and not self._own_pids:
            pid, missing["pid"] = None, _OTHER_PIDS
        if event.newest is None:
            missing["time_seconds"] = _NO_TIMES
        cgroup, limited = event.cgroups
        return KernelLogReading(
            kind=said.kind,
            time_seconds=self._unix(event.newest, offset),
            first_time_seconds=self._unix(event.first, offset),
            count=event.count,
            before_start=event.before,
            earlier_seconds=asleep if event.before and not self._sleeps else 0.0,
            level=said.level,
            pci_bus_id=said.pci_bus_id,
            subject=said.subject,
            code=said.code,
            pid=pid,
            command_name=None if said.command_name is None else mask_text(said.command_name),
            cgroup=cgroup,
            limited_cgroup=limited,
            anonymous_bytes=said.anonymous_bytes,
            text=mask_text(event.text)[:_MOST_TEXT],
            missing=missing,
        )

    def _unix(self, moment: float | None, offset: float) -> float | None:
        if moment is None:
            return None
        return offset + moment - sum(slept for at, slept in self._sleeps if at >= moment)


def _asleep_seconds() -> float:
    """How long the node has slept since it was started: the log's clock stood still meanwhile."""
    asleep = time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
    return round(asleep, 1) if asleep > _SLEPT_SECONDS else 0.0


def _in_initial_namespace(root: Path) -> bool:
    """Whether pids here are those of the host, as the log has them."""
    try:
        return str((root / "proc/self/ns/pid").readlink()) == _INITIAL_PID_NAMESPACE
    except OSError:
        return False


def make(_context: Context) -> KernelLogSource:
    """For the registry."""
    return KernelLogSource()
