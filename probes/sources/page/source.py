"""What the probes inside the jobs of this node tell: their state pages, each tick, read from outside.

Read are the pages of all watched processes and of what is below those asked for, wherever these
lie, in containers too; and every page in the directories of this user, or for root of all users. What
a dead process has left is reported for a day.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

from ...model.probe_readings import ProbeReading
from ..context import Context
from ..procfs.files import Descriptors, Gone
from ..procfs.tree import ProcessTree
from ..watchlist import Watchlist
from .directories import PageDirectories
from .process_page import WatchedProcess

MOST = 256
"""Processes that are looked at for a page."""
_MOST_DESCRIPTORS = 128
"""Kept open to see whether a process lives; beside these, each page has one."""

_log = logging.getLogger(__name__)


class ProbeSource:
    """Reads the state pages; see the module for which these are.

    Args:
        watchlist: says which processes matter.
        root: of the file system with ``proc`` in it.
    """

    name = "inprocess"

    def __init__(self, watchlist: Watchlist, root: Path = Path("/")) -> None:
        self._watchlist = watchlist
        self._root = str(root).rstrip("/")
        self._descriptors = Descriptors(_MOST_DESCRIPTORS)
        self._tree = ProcessTree(root)
        self._directories = PageDirectories(self._root, os.geteuid())
        self._watched: dict[int, WatchedProcess] = {}
        self._attached: frozenset[int] = frozenset()
        self._reported_of_more = False

    def read(self) -> tuple[ProbeReading, ...]:
        """One reading per page, of the living and of the dead of the last day."""
        living, new = self._directories.look()
        wanted = self._bounded(living | self._watchlist.pids() | self._below_attached())
        for pid in new & self._watched.keys():
            self._watched[pid].hurry()
        for pid in wanted | self._watched.keys():
            self._look_at(pid, wanted=pid in wanted)
        return tuple(sorted((*self._living(), *self._directories.dead()), key=_order))

    def close(self) -> None:
        """Give all descriptors back."""
        for watched in self._watched.values():
            watched.close()
        self._watched.clear()

    def _living(self) -> Iterator[ProbeReading]:
        for watched in self._watched.values():
            # Before the copy is taken: then it cannot tell of less than this moment.
            reading = watched.read(time.monotonic_ns())
            if reading is not None:
                yield reading

    def _look_at(self, pid: int, *, wanted: bool) -> None:
        """Take it up, or find that it has gone. One that ended makes room for a new one of its pid."""
        watched = self._watched.get(pid)
        if watched is not None:
            if wanted and watched.idle:
                return
            try:
                watched.look()
                if wanted or watched.has_page:
                    return
            except Gone:
                self._directories.keep_page_of(watched.owner, watched.leave(time.monotonic_ns()))
            watched.close()
            del self._watched[pid]
        if wanted:
            try:
                self._watched[pid] = WatchedProcess(pid, self._root, self._descriptors)
            except Gone:
                return

    def _below_attached(self) -> frozenset[int]:
        """Ranks that were started by what was asked for need not be on a GPU."""
        attached = self._watchlist.attached()
        if attached - self._attached:
            self._tree.hurry()
        self._attached = attached
        if not attached:
            return attached
        try:
            self._tree.refresh()
        except OSError:
            return attached
        found: set[int] = set()
        level = set(attached)
        while level and len(found) < MOST:
            level = {child for pid in level for child in self._tree.children(pid)} - found
            found |= level
        return frozenset(found)

    def _bounded(self, pids: frozenset[int]) -> frozenset[int]:
        if len(pids) <= MOST:
            return pids
        if not self._reported_of_more:
            self._reported_of_more = True
            _log.warning("more than %d processes to look at for a state page: not all are", MOST)
        return frozenset(sorted(pids, key=lambda pid: (pid not in self._watched, pid))[:MOST])


def _order(reading: ProbeReading) -> tuple[int, float]:
    return reading.pid, reading.start_time_seconds


def make(context: Context) -> ProbeSource:
    """For the registry."""
    return ProbeSource(context.watchlist)
