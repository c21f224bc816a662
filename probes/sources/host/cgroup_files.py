"""The limits and counters of one control group, version 1 or 2, with the groups above it.

A limit anywhere above binds too: a Kubernetes pod's quota holds its containers back though they have
none. So the tightest of all levels that are visible counts, and the counters are read where it is set:
throttling is counted by the group whose quota ran out, and memory against a limit is that group's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from ..procfs.files import Descriptors, KeptFiles
from ..procfs.text import number, number_after, parse_fields

_NO_LIMIT_BYTES = 2**60
"""Version 1 writes a huge number where there is no limit."""
_STAT_BYTES = 16384
_OOM_KEY = b"oom_kill "
_Limit = TypeVar("_Limit", int, float)


class Layout(msgspec.Struct, frozen=True):
    """Names of files and keys in one version."""

    usage: str
    events: str
    throttled_key: bytes
    throttled_unit_seconds: float
    inactive_key: bytes


VERSION_1 = Layout(
    usage="memory.usage_in_bytes",
    events="memory.oom_control",
    throttled_key=b"throttled_time ",
    throttled_unit_seconds=1e-9,
    inactive_key=b"total_inactive_file ",
)
VERSION_2 = Layout(
    usage="memory.current",
    events="memory.events",
    throttled_key=b"throttled_usec ",
    throttled_unit_seconds=1e-6,
    inactive_key=b"inactive_file ",
)


class Levels:
    """A group and those above it up to the mount, for one controller, the innermost first."""

    def __init__(self, mount: Path, path: str, layout: Layout, descriptors: Descriptors) -> None:
        self.layout = layout
        parts = [part for part in path.split("/") if part]
        folders = [mount.joinpath(*parts[:count]) for count in range(len(parts), -1, -1)]
        self._innermost = folders[0]
        self._levels = [KeptFiles(folder, descriptors) for folder in folders]

    def close(self) -> None:
        """Give the descriptors back."""
        for level in self._levels:
            level.close()

    def exists(self) -> bool:
        """Whether the innermost group is there."""
        return self._innermost.is_dir()

    def is_root(self) -> bool:
        """Whether it is the root of all groups, which no limit can be set on."""
        # The kernel gives every group a type, except the root; that of a namespace has one.
        if len(self._levels) > 1:
            return False
        return self.layout is VERSION_1 or not (self._innermost / "cgroup.type").exists()

    def quota(self) -> tuple[float | None, int, bool]:
        """Tightest quota in cores, the level that sets it, and whether any level could."""
        return _tightest([self._quota_of(level) for level in range(len(self._levels))])

    def memory_limit(self) -> tuple[int | None, int, bool]:
        """As `quota`, in bytes."""
        return _tightest([self._limit_of(level) for level in range(len(self._levels))])

    def throttling(self, level: int) -> tuple[int | None, int | None, int | None]:
        """Periods, those throttled, and the time of throttling in the layout's unit, of one level."""
        periods, count, time = parse_fields(
            self._text(level, "cpu.stat") or b"",
            (b"nr_periods ", b"nr_throttled ", self.layout.throttled_key),
        )
        return periods, count, time

    def memory_used(self, level: int) -> int | None:
        """Of one level."""
        return number((self._text(level, self.layout.usage) or b"").strip())

    def inactive_file(self, level: int) -> int | None:
        """Of one level."""
        stat = self._text(level, "memory.stat", most=_STAT_BYTES) or b""
        return number_after(stat, self.layout.inactive_key)

    def oom_kills(self) -> int | None:
        """Of the innermost group: the kernel counts a kill where the victim was."""
        return number_after(self._text(0, self.layout.events) or b"", _OOM_KEY)

    def _quota_of(self, level: int) -> tuple[bool, float | None]:
        """Whether the level can have a quota, and the one that it has."""
        if self.layout is VERSION_2:
            data = self._text(level, "cpu.max", once=True)
            return data is not None, parse_cpu_max(data or b"")
        quota = self._text(level, "cpu.cfs_quota_us", once=True)
        period = self._text(level, "cpu.cfs_period_us", once=True)
        if quota is None or period is None:
            return False, None
        return True, parse_cpu_max(quota.strip() + b" " + period.strip())

    def _limit_of(self, level: int) -> tuple[bool, int | None]:
        name = "memory.max" if self.layout is VERSION_2 else "memory.limit_in_bytes"
        data = self._text(level, name, once=True)
        return data is not None, parse_memory_limit(data or b"")

    def _text(self, level: int, name: str, *, most: int = 4096, once: bool = False) -> bytes | None:
        files = self._levels[level]
        try:
            return files.read_once(name, most) if once else files.read(name, most)
        except OSError:
            return None


def _tightest(levels: Sequence[tuple[bool, _Limit | None]]) -> tuple[_Limit | None, int, bool]:
    """The lowest limit, the level that sets it, and whether any level could have one."""
    limits = [(limit, level) for level, (_, limit) in enumerate(levels) if limit is not None]
    limit, level = min(limits, default=(None, 0))
    return limit, level, any(known for known, _ in levels)


def parse_cpu_max(data: bytes) -> float | None:
    """Cores, of ``max 100000`` or ``150000 100000``; ``None`` is no limit."""
    fields = data.split()
    if len(fields) != 2:
        return None
    quota, period = number(fields[0]), number(fields[1])
    return quota / period if quota and period else None


def parse_memory_limit(data: bytes) -> int | None:
    """Bytes; ``None`` is no limit: ``max``, or the huge number of version 1."""
    limit = number(data.strip())
    return limit if limit is not None and limit < _NO_LIMIT_BYTES else None
