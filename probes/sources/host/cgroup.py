"""Control groups of the watched processes: what they may use, and what it cost them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from ...model.host_readings import CgroupReading
from ...model.reading import Missing
from ..context import Context
from ..procfs.cgroup_paths import UNIFIED, CgroupMounts
from ..procfs.files import Descriptors
from ..watchlist import Watchlist
from .cgroup_files import VERSION_1, VERSION_2, Levels
from .cgroup_search import NOT_VISIBLE, CgroupSearch

_UNTOLD = "the kernel does not tell it for this group"
_NO_QUOTA = "no CPU quota, so nothing is counted"


class CgroupSource:
    """One reading per control group that holds a watched process.

    Args:
        watchlist: says which processes.
        root: of the file system with ``proc`` and ``sys`` in it.
    """

    name = "cgroups"

    def __init__(self, watchlist: Watchlist, root: Path = Path("/")) -> None:
        self._root = root
        self._search = CgroupSearch(watchlist, root)
        self._descriptors = Descriptors()
        self._groups: dict[str, _Group] = {}

    def read(self) -> tuple[CgroupReading, ...]:
        """A reading per group; of more than some dozens the first.

        Raises:
            SourceAbsent: where no control groups are mounted.
        """
        if found := self._search.look():
            self.close()
            for path, memberships in found.memberships.items():
                self._groups[path] = self._group(path, memberships, found.mounts)
        return tuple(group.read() for group in self._groups.values())

    def close(self) -> None:
        """Give all descriptors back."""
        for group in self._groups.values():
            group.close()
        self._groups.clear()

    def _group(self, path: str, memberships: dict[str, str], mounts: CgroupMounts) -> _Group:
        return _Group(
            path,
            cpu=self._levels(memberships, mounts, "cpu"),
            memory=self._levels(memberships, mounts, "memory"),
        )

    def _levels(
        self, memberships: dict[str, str], mounts: CgroupMounts, controller: str
    ) -> Levels | None:
        """A controller is in a hierarchy of its own (version 1), or else in the unified one."""
        own = controller in memberships
        place = mounts.folder_of(memberships, controller if own else UNIFIED)
        if place is None:
            return None
        folder, below = place
        mount = self._root / folder.lstrip("/")
        levels = Levels(mount, below, VERSION_1 if own else VERSION_2, self._descriptors)
        return levels if levels.exists() else None


class _Group:
    """One group, with its limits as they were when it was found."""

    def __init__(self, path: str, cpu: Levels | None, memory: Levels | None) -> None:
        self._path = path
        self._cpu = cpu
        self._memory = memory
        self._quota, self._quota_level, self._has_cpu = cpu.quota() if cpu else (None, 0, False)
        self._limit, self._limit_level, self._has_memory = (
            memory.memory_limit() if memory else (None, 0, False)
        )

    def close(self) -> None:
        for levels in (self._cpu, self._memory):
            if levels is not None:
                levels.close()

    def read(self) -> CgroupReading:
        missing: Missing = {}
        periods, throttled, seconds = self._throttling(missing)
        used, inactive, kills = self._memory_use(missing)
        layouts = [levels.layout for levels in (self._cpu, self._memory) if levels is not None]
        return CgroupReading(
            monotonic_seconds=time.monotonic(),
            missing=missing,
            path=self._path,
            version=1 if VERSION_1 in layouts else 2,
            cpu_quota_cores=self._quota,
            cpu_periods=periods,
            cpu_throttled_periods=throttled,
            cpu_throttled_seconds=seconds,
            memory_used_bytes=used,
            memory_inactive_file_bytes=inactive,
            memory_limit_bytes=self._limit,
            oom_kills=kills,
        )

    def _throttling(self, missing: Missing) -> tuple[int | None, int | None, float | None]:
        cpu = self._cpu
        unlimited = cpu is not None and (self._has_cpu or cpu.is_root())
        if not unlimited:
            missing["cpu_quota_cores"] = _why(cpu, "cpu")
        periods, count, throttled = cpu.throttling(self._quota_level) if cpu else (None, None, None)
        unit = cpu.layout.throttled_unit_seconds if cpu else 0.0
        seconds = None if throttled is None else throttled * unit
        values = {
            "cpu_periods": periods,
            "cpu_throttled_periods": count,
            "cpu_throttled_seconds": seconds,
        }
        _add_reasons(missing, values, missing.get("cpu_quota_cores", _NO_QUOTA))
        return periods, count, seconds

    def _memory_use(self, missing: Missing) -> tuple[int | None, int | None, int | None]:
        memory = self._memory
        unlimited = memory is not None and (self._has_memory or memory.is_root())
        if not unlimited:
            missing["memory_limit_bytes"] = _why(memory, "memory")
        used = memory.memory_used(self._limit_level) if memory else None
        inactive = memory.inactive_file(self._limit_level) if memory else None
        kills = memory.oom_kills() if memory else None
        values = {
            "memory_used_bytes": used,
            "memory_inactive_file_bytes": inactive,
            "oom_kills": kills,
        }
        _add_reasons(missing, values, missing.get("memory_limit_bytes", _UNTOLD))
        return used, inactive, kills


def _why(levels: Levels | None, controller: str) -> str:
    if levels is None:
        return NOT_VISIBLE
    return f"the {controller} controller is not enabled for this group"


def _add_reasons(missing: Missing, values: Mapping[str, float | None], reason: str) -> None:
    missing.update({name: reason for name, value in values.items() if value is None})


def make(context: Context) -> CgroupSource:
    """For the registry."""
    return CgroupSource(context.watchlist)
