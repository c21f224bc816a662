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
from ..procfs.cgroup_paths import UNIFIED, CgroupMounts
from ..procfs.files import Descriptors, KeptFiles
from ..watchlist import Watchlist
from .cgroup_search import NOT_VISIBLE, CgroupSearch
from .text import parse_pressure

_VERSION_1 = "control groups of version 1 do not count it"
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
        self._root = root
        self._search = CgroupSearch(watchlist, root)
        self._descriptors = Descriptors()
        self._groups: dict[str, KeptFiles | str] = {}
        """The files of each group, or why it has none."""

    def read(self) -> tuple[PressureReading, ...]:
        """A reading per group; of more than some dozens the first.

        Raises:
            SourceAbsent: where no control groups are mounted.
        """
        if found := self._search.look():
            self.close()
            for path, memberships in found.memberships.items():
                self._groups[path] = self._files(path, memberships, found.mounts)
        return tuple(_read(path, files) for path, files in self._groups.items())

    def close(self) -> None:
        """Give all descriptors back."""
        for files in self._groups.values():
            if isinstance(files, KeptFiles):
                files.close()
        self._groups.clear()

    def _files(
        self, path: str, memberships: dict[str, str], mounts: CgroupMounts
    ) -> KeptFiles | str:
        # In mixed setups all jobs may be in the root of version 2, which stands for the whole node.
        if UNIFIED not in mounts.by_controller or memberships.get(UNIFIED) != path:
            return _VERSION_1
        place = mounts.folder_of(memberships, UNIFIED)
        if place is None:
            return NOT_VISIBLE
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
