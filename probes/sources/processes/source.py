"""Processes that are watched: those on a GPU or asked for, what started them, and what they started.

At each tick only small files with descriptors kept open are read. Ranks and what is above them are
read every time. Of what is below them, loader workers mostly, up to `EVERY_TICK` are; where there are
more, they take turns, and the last reading of the others is sent again under its own time. No more
than `MOST` are followed at all.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from ...jobs.command_line import is_boundary, python_of
from ...jobs.rank_finder import RankFinder
from ...model.process_readings import ProcessReading
from ...model.reading import key_of
from ..context import Context
from ..procfs.files import Descriptors, Gone, read_file
from ..procfs.tree import ProcessTree
from ..protocol import SourceAbsent, SourceDenied
from ..watchlist import Watchlist
from .attached import fellow_ranks, has_parts, mark_attached, shells_of_ranks
from .facts import FactsReader
from .gpu_files import GpuFiles
from .process import Entry

EVERY_TICK = 64
MOST = 1024
_DETAILED_BELOW = 32
"""With no more processes than this, context switches are read of all, and not of ranks alone."""
_MOST_ABOVE = 16
_MOST_BESIDE = 64
_PATIENCE_SECONDS = 15.0
_MOUNTS_BYTES = 1 << 18
_FACTS_PER_SECOND = 8.0
"""How many processes may have their facts read again in a second."""


class ProcessSource:
    """Reads the watched processes; see the module for which these are.

    Args:
        watchlist: says which.
        root: of the file system with ``proc`` in it.
    """

    name = "processes"

    def __init__(self, watchlist: Watchlist, root: Path = Path("/")) -> None:
        self._watchlist = watchlist
        self._root = root
        self._descriptors = Descriptors()
        self._facts = FactsReader(root)
        self._tree = ProcessTree(root)
        self._entries: dict[int, Entry] = {}
        self._latest: dict[tuple[int, float], ProcessReading] = {}
        self._known: frozenset[int] = frozenset()
        self._ranks = RankFinder()
        self._gpu_files = GpuFiles(root)
        self._heirs: dict[int, int] = {}
        self._asked: frozenset[int] = frozenset()
        self._began: dict[int, int] = {}
        """Start of each process asked for, in ticks: a pid alone comes back."""
        self._turn = 0
        self._last_below: list[int] = []
        self._due: frozenset[int] | None = None
        self._own_pid = os.getpid()
        self._reported_of_more = False
        self._seen: set[int] = set()
        """Looked at in this read, and there."""

    def read(self) -> tuple[ProcessReading, ...]:
        """One reading per process that is there.

        Raises:
            SourceAbsent: without a ``/proc``.
            SourceDenied: where it hides every process that are watched.
        """
        wanted, by_gpu = self._watchlist.pids(), self._watchlist.by_gpu()
        # Of those on a GPU the driver says at each tick which they are.
        self._asked = self._watchlist.attached().difference(*by_gpu.values())
        self._forget_origins(wanted)
        if wanted - self._known:
            self._tree.hurry()  # a new job: its workers are there already
        self._known = wanted
        try:
            self._tree.refresh()
        except OSError as error:
            raise SourceAbsent("there is no /proc here: is it mounted?") from error
        self._facts.refresh()
        self._seen.clear()
        main = self._present(wanted)
        if wanted and not main:
            self._check_hidden()
        above = self._above(main)
        few = len(self._entries) <= _DETAILED_BELOW
        readings = [
            reading
            for pid in (*main, *above)
            if (reading := self._read(pid, detailed=few or pid in wanted))
        ]
        beside = self._beside(readings)
        fellows = fellow_ranks(readings, beside)
        readings += fellows
        roots = [pid for pid in above if self._launches(pid) or self._has_parts(pid, main)]
        roots += [fellow.pid for fellow in fellows]
        below = self._below([pid for pid in (*main, *roots) if pid in self._entries])
        readings += self._readings_below(below, detailed=few)
        self._forget({*main, *above, *(each.pid for each in beside), *below})
        asked = self._watchlist.attached() & {*main}
        readings = mark_attached(readings, {*asked, *self._heirs.values()})
        self._latest = {key_of(each): each for each in readings}
        ranks = self._ranks.find(readings, by_gpu)
        self._watchlist.set_ranks(ranks)
        if by_gpu:
            readings = self._gpu_files.added(readings, ranks, chain.from_iterable(by_gpu.values()))
        return tuple(sorted(readings, key=lambda reading: reading.pid))

    def latest(self, pid: int, start_time_seconds: float) -> ProcessReading | None:
        """What was read last of a process that are watched. Any thread may ask."""
        return self._latest.get((pid, start_time_seconds))

    def close(self) -> None:
        """Give all descriptors back."""
        self._forget(set())

    def _present(self, wanted: frozenset[int]) -> list[int]:
        """Those that are there. For one that has ended, what started it: the job may go on."""
        present = [pid for pid in sorted(wanted) if self._look_at(pid) and self._is_meant(pid)]
        for pid in wanted.difference(present):
            heir = self._heirs.get(pid)
            if heir is not None and heir not in present and self._look_at(heir):
                present.append(heir)
        for pid in present:
            parent = self._entries[pid].stat.parent_pid
            if pid in wanted and parent > 1 and self._look_at(parent) and self._launches(parent):
                self._heirs[pid] = parent
        return present

    def _is_meant(self, pid: int) -> bool:
        """Whether it is the process that was asked for, and not a later one of that pid."""
        if pid not in self._asked:
            return True
        began = self._entries[pid].stat.start_ticks
        return self._began.setdefault(pid, began) == began

    def _look_at(self, pid: int) -> bool:
        """Whether it is there. One that ended makes room for a new one of its pid."""
        if pid in self._seen:
            return True  # what starts many ranks is asked for by each of them
        entry = self._entries.get(pid)
        try:
            if entry is not None:
                entry.look()
                self._seen.add(pid)
                return True
        except Gone:
            self._drop(pid)
        try:
            self._entries[pid] = Entry(pid, self._root, self._descriptors, self._facts)
        except Gone:
            return False
        self._seen.add(pid)
        return True

    def _above(self, main: list[int]) -> list[int]:
        """The ancestors up to whatever starts the jobs of everybody."""
        seen = set(main)
        above: list[int] = []
        for pid in main:
            parent = self._entries[pid].stat.parent_pid
            for _ in range(_MOST_ABOVE):
                if parent <= 1 or parent in seen or not self._look_at(parent):
                    break
                seen.add(parent)
                stat = self._entries[parent].stat
                if is_boundary(stat.name) or stat.kernel_thread:
                    break
                above.append(parent)
                parent = stat.parent_pid
        return above

    def _beside(self, readings: Sequence[ProcessReading]) -> list[ProcessReading]:
        """What else was started by the shells that started a rank by hand: no launcher leads to it."""
        seen = {self._own_pid, *(reading.pid for reading in readings)}
        beside: list[ProcessReading] = []
        for shell in shells_of_ranks(readings):
            children = sorted(self._children(shell, live=True) - seen)[:_MOST_BESIDE]
            for pid in children:
                if self._look_at(pid) and self._entries[pid].stat.parent_pid == shell:
                    reading = self._read(pid, detailed=True)
                    if reading is not None:
                        beside.append(reading)
        return beside

    def _launches(self, pid: int) -> bool:
        entry = self._entries.get(pid)
        return entry is not None and entry.facts is not None and entry.facts.kind == "launcher"

    def _has_parts(self, pid: int, main: list[int]) -> bool:
        """Whether one that was asked for is a worker of it, and so has brothers."""
        own = self._command(pid)
        if has_parts(own, (self._command(each) for each in main)):
            return True
        titled = [each for each in main if self._is_titled(each)]
        return self._is_python(pid) and any(
            self._entries[each].stat.parent_pid == pid for each in titled
        )

    def _is_titled(self, pid: int) -> bool:
        entry = self._entries.get(pid)
        return entry is not None and entry.facts is not None and entry.facts.titled

    def _is_python(self, pid: int) -> bool:
        return self._is_titled(pid) or python_of(self._command(pid) or ()) is not None

    def _command(self, pid: int) -> tuple[str, ...] | None:
        entry = self._entries.get(pid)
        return entry.facts.command if entry is not None and entry.facts is not None else None

    def _may_be_rank(self, pid: int) -> bool:
        """Below a rank, nearly all have the environment that the rank has."""
        reading = self._entries[pid].reading
        return reading is not None and not reading.environment_inherited

    def _below(self, roots: list[int]) -> list[int]:
        """The descendants. Those of a launcher are ranks that have not reached a GPU, or their kin."""
        self._due = self._next_turn()
        seen = {*roots, self._own_pid}
        live = set(roots)
        below: list[int] = []
        level = roots
        while level and len(below) < MOST:
            found: list[int] = []
            for pid in level:
                children = [
                    child
                    for child in self._children(pid, live=pid in live) - seen
                    if self._is_below(child, seen)
                ]
                if pid in live:
                    live.update(child for child in children if self._may_be_rank(child))
                seen.update(children)
                found += children
            below += found
            level = found
        if len(below) > MOST and not self._reported_of_more:
            self._reported_of_more = True
            import logging

            logging.getLogger(__name__).warning(
                "more than %d processes below the ranks: the rest is not read", MOST
            )
        return below[:MOST]

    def _next_turn(self) -> frozenset[int] | None:
        """Those below the ranks that are read now; ``None``: all of them."""
        if len(self._last_below) <= EVERY_TICK:
            return None
        self._turn %= len(self._last_below)
        turn = self._last_below[self._turn : self._turn + EVERY_TICK]
        self._turn += EVERY_TICK
        return frozenset(turn)

    def _children(self, pid: int, *, live: bool) -> set[int]:
        """As of the last scan, and those that its main thread has now."""
        known = set(self._tree.children(pid))
        return known.union(self._entries[pid].children() or ()) if live else known

    def _is_below(self, pid: int, seen: set[int]) -> bool:
        waits = self._due is not None and pid not in self._due and pid in self._entries
        if not waits and not self._look_at(pid):
            return False
        # Since the scan, its pid may have gone to a process of somebody else's.
        return self._entries[pid].stat.parent_pid in seen

    def _readings_below(self, below: list[int], *, detailed: bool) -> list[ProcessReading]:
        """New readings of those whose turn it is, the ones never read first; of the rest the last."""
        self._last_below = below
        due = [pid for pid in below if self._is_due(pid)]
        due.sort(key=lambda pid: self._entries[pid].reading is not None)
        fresh = set(due[:EVERY_TICK])
        readings = [
            self._read(pid, detailed=detailed, fold=True)
            if pid in fresh
            else self._entries[pid].reading
            for pid in below
        ]
        return [reading for reading in readings if reading is not None]

    def _is_due(self, pid: int) -> bool:
        return self._due is None or pid in self._due or self._entries[pid].reading is None

    def _read(self, pid: int, *, detailed: bool, fold: bool = False) -> ProcessReading | None:
        entry = self._entries[pid]
        parent = self._entries.get(entry.stat.parent_pid) if fold else None
        patience = max(_PATIENCE_SECONDS, len(self._entries) / _FACTS_PER_SECOND)
        try:
            return entry.read(parent, detailed=detailed, patience=patience)
        except Gone:
            self._drop(pid)
            return None

    def _drop(self, pid: int) -> None:
        self._seen.discard(pid)
        entry = self._entries.pop(pid, None)
        if entry is not None:
            entry.close()

    def _forget_origins(self, wanted: frozenset[int]) -> None:
        """Of what nobody watches any more: a node may see thousands of processes in a day."""
        for origins in (self._heirs, self._began):
            for pid in origins.keys() - wanted:
                del origins[pid]

    def _forget(self, wanted: set[int]) -> None:
        for pid in self._entries.keys() - wanted:
            self._drop(pid)

    def _check_hidden(self) -> None:
        """Tell processes that are not shown from ones that are not there."""
        try:
            mounts = read_file(self._root / "proc/self/mountinfo", _MOUNTS_BYTES)
        except OSError:
            return
        own = [line for line in mounts.split(b"\n") if b" /proc " in line and b" - proc " in line]
        if any(b"hidepid=" in line and b"hidepid=0" not in line for line in own) and os.geteuid():
            raise SourceDenied(
                "/proc hides the processes of other users (hidepid): "
                "run gputop as the job's user or root"
            )


def make(context: Context) -> ProcessSource:
    """For the registry."""
    source = ProcessSource(context.watchlist)
    context.newest_process = source.latest
    return source
