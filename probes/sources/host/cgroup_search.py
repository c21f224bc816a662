"""Which control groups hold the watched processes, for the sources that read something of each."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from ..procfs.cgroup_paths import CgroupMounts, parse_memberships, parse_mounts, single_path
from ..procfs.files import read_file
from ..protocol import SourceAbsent
from ..watchlist import Watchlist

_PATIENCE_SECONDS = 10.0
_MOUNTS_BYTES = 1 << 18
_MOST = 64
NOT_VISIBLE = "this group is not visible here: it lies outside of this container"


class FoundGroups(msgspec.Struct, frozen=True):
    """Where control groups are mounted, and those of the watched processes."""

    mounts: CgroupMounts
    memberships: dict[str, dict[str, str]]
    """By path of the group: that of each controller, of the first process in it."""


class CgroupSearch:
    """Looks now and then, for limits change and groups are removed, and when other processes are watched.

    Args:
        watchlist: says which processes.
        root: of the file system with ``proc`` and ``sys`` in it.
    """

    def __init__(self, watchlist: Watchlist, root: Path) -> None:
        self._watchlist = watchlist
        self._root = root
        self._pids: frozenset[int] = frozenset()
        self._due = 0.0

    def look(self) -> FoundGroups | None:
        """The groups, of more than some dozens the first; ``None`` while the last answer stands.

        Raises:
            SourceAbsent: where no control groups are mounted.
        """
        now, pids = time.monotonic(), self._watchlist.pids()
        if now < self._due and pids == self._pids:
            return None
        mounts = self._mounts()
        memberships: dict[str, dict[str, str]] = {}
        for pid in sorted(pids):
            own = self._memberships(pid)
            path = single_path(own)
            if path is not None and len(memberships) < _MOST:
                memberships.setdefault(path, own)
        self._due, self._pids = now + _PATIENCE_SECONDS, pids
        return FoundGroups(mounts, memberships)

    def _mounts(self) -> CgroupMounts:
        try:
            mountinfo = read_file(self._root / "proc/self/mountinfo", _MOUNTS_BYTES)
        except OSError as error:
            raise SourceAbsent("there is no /proc here: is it mounted?") from error
        mounts = parse_mounts(mountinfo)
        if not mounts.by_controller:
            raise SourceAbsent("no control groups are mounted here")
        return mounts

    def _memberships(self, pid: int) -> dict[str, str]:
        try:
            return parse_memberships(read_file(self._root / f"proc/{pid}/cgroup"))
        except OSError:
            return {}
