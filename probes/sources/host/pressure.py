"""Pressure in the control groups of the watched processes: for how long some of their tasks had to wait.

The same counters as ``/proc/pressure`` gives of the whole node, but of the job alone: other jobs on the
node neither hide its waiting nor add to it. Only version 2 counts them.
"""

from __future__ import annotations

import time
from pathlib import Path

from ...model.host_readings import PressureReading
from ...model.reading import Missing
from ..context import Context
from ..procfs.cgroup_paths import (
    UNIFIED,
    CgroupMounts,
    parse_memberships,
    parse_mounts,
    single_path,
)
from ..procfs.files import Descriptors, KeptFiles, read_file
from ..protocol import SourceAbsent
from ..watchlist import Watchlist
from .text import parse_pressure

_PATIENCE_SECONDS = 10.0
_MOUNTS_BYTES = 1 << 18
_MOST = 64
_VERSION_1 = "control groups of version 1 do not count it"
_NOT_VISIBLE = "this group is not visible here: it lies outside of this container"
_NOT_COUNTED = "the kernel does not count it for this group: boot it with psi=1"
_FIELDS = (
    ("cpu", "pressure_cpu_some_seconds", None),
    ("memory", "pressure_memory_some_seconds", None),
    ("io", "pressure_io_some_seconds", "pressure_io_full_seconds"),
)
"""Resource, and the fields of the time in which some, and in which all, tasks waited for it."""


class PressureSource:
    """One reading per control group that holds a watched process.

    Args:
        watchlist: says which processes.
        root: of the file system with ``proc`` and ``sys`` in it.
    """

    name = "pressure"
    rest_seconds = 2.0
    """Its counters lose nothing meanwhile: a rate is a mean over the time between two readings."""

    def __init__(self, watchlist: Watchlist, root: Path = Path("/")) -> None:
        self._watchlist = watchlist
        self._root = root
        self._descriptors = Descriptors()
        self._groups: dict[str, KeptFiles | str] = {}
        """The files of each group, or why it has none."""
        self._pids: frozenset[int] = frozenset()
        self._due = 0.0

    def read(self) -> tuple[PressureReading, ...]:
        """A reading per group; of more than some dozens the first.

        Raises:
            SourceAbsent: where no control groups are mounted.
        """
        now, pids = time.monotonic(), self._watchlist.pids()
        if now >= self._due or pids != self._pids:
            self._find(pids)
            self._due, self._pids = now + _PATIENCE_SECONDS, pids
        return tuple(_read(path, files) for path, files in self._groups.items())

    def close(self) -> None:
        """Give all descriptors back."""
        for files in self._groups.values():
            if isinstance(files, KeptFiles):
                files.close()
        self._groups.clear()
        self._pids = frozenset()

    def _find(self, pids: frozenset[int]) -> None:
        try:
            mountinfo = read_file(self._root / "proc/self/mountinfo", _MOUNTS_BYTES)
        except OSError as error:
            raise SourceAbsent("there is no /proc here: is it mounted?") from error
        mounts = parse_mounts(mountinfo)
        if not mounts.by_controller:
            raise SourceAbsent("no control groups are mounted here")
        self.close()  # groups are removed while processes live
        for pid in sorted(pids):
            memberships = self._memberships(pid)
            path = single_path(memberships)
            if path is not None and path not in self._groups and len(self._groups) < _MOST:
                self._groups[path] = self._files(path, memberships, mounts)

    def _memberships(self, pid: int) -> dict[str, str]:
        try:
            return parse_memberships(read_file(self._root / f"proc/{pid}/cgroup"))
        except OSError:
            return {}

    def _files(
        self, path: str, memberships: dict[str, str], mounts: CgroupMounts
    ) -> KeptFiles | str:
        # In mixed setups all jobs may be in the root of version 2, which stands for the whole node.
        if UNIFIED not in mounts.by_controller or memberships.get(UNIFIED) != path:
            return _VERSION_1
        place = mounts.folder_of(memberships, UNIFIED)
        if place is None:
            return _NOT_VISIBLE
        mount, below = place
        return KeptFiles(self._root / mount.lstrip("/") / below, self._descriptors)


def _read(path: str, files: KeptFiles | str) -> PressureReading:
    values: dict[str, float | None] = {}
    for resource, some_field, full_field in _FIELDS:
        some, full = (None, None) if isinstance(files, str) else _waited(files, resource)
        values[some_field] = some
        if full_field is not None:
            values[full_field] = full
    reason = files if isinstance(files, str) else _NOT_COUNTED
    missing: Missing = {name: reason for name, value in values.items() if value is None}
    return PressureReading(monotonic_seconds=time.monotonic(), missing=missing, path=path, **values)


def _waited(files: KeptFiles, resource: str) -> tuple[float | None, float | None]:
    try:
        return parse_pressure(files.read(f"{resource}.pressure"))
    except OSError:
        return None, None


def make(context: Context) -> PressureSource:
    """For the registry."""
    return PressureSource(context.watchlist)
