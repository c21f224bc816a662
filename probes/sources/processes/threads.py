"""Threads of the ranks: what needs no right at all, and tells nearly as much as a stack.

Of a rank's threads, of which there may be hundreds, only the main one and those with a name that
PyTorch gives are read at every tick. Names are asked for once per thread; which threads there are, now
and then.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from ...model.process_readings import ProcessReading
from ...model.rank_readings import ExitReading, ThreadReading, ThreadsReading
from ...model.reading import key_of
from ..context import Context
from ..procfs.files import Descriptors, KeptFiles
from ..procfs.text import TICKS_PER_SECOND, parse_stat, parse_switches, parse_wait_channel, text
from ..watchlist import Watchlist
from .exits import Watched, forget_old

NAMED = ("pt_autograd", "pt_nccl", "pt_gloo")
MOST_NAMED = 12
LIST_SECONDS = 15.0
FRESH_SECONDS = 0.1
"""What was read so short a time ago is of this tick, also at five ticks a second."""
_MOST_LISTED = 4096
_MOST_RANKS = 64
_DENIED = "the kernel shows it to the job's user and to root alone"


class ThreadSource:
    """One reading per rank, and one per rank that has ended.

    Args:
        watchlist: says which processes are ranks.
        root: of the file system with ``proc`` in it.
        latest: the latest reading of a process, by pid and start time, where another source has one.
    """

    name = "threads"

    def __init__(
        self,
        watchlist: Watchlist,
        root: Path = Path("/"),
        latest: Callable[[int, float], ProcessReading | None] = lambda _pid, _start: None,
    ) -> None:
        self._watchlist = watchlist
        self._latest = latest
        self._root = root
        self._descriptors = Descriptors(most=512)
        self._ranks: dict[tuple[int, float], _Rank] = {}
        self._watched: dict[tuple[int, float], Watched] = {}
        self._exits: list[ExitReading] = []

    def read(self) -> tuple[ThreadsReading | ExitReading, ...]:
        """What all ranks do now."""
        wanted = list(self._watchlist.ranks().items())[:_MOST_RANKS]
        self._note_exits(set(wanted))
        for key in self._ranks.keys() - set(wanted):
            self._ranks.pop(key).close()
        readings: list[ThreadsReading | ExitReading] = list(self._exits)
        for key in wanted:
            rank = self._ranks.get(key)
            if rank is None:
                rank = self._ranks[key] = _Rank(*key, self._root, self._descriptors)
            with contextlib.suppress(OSError):  # it is ending
                reading = rank.read(self._latest(*key))
                if reading is not None:
                    readings.append(reading)
        return tuple(readings)

    def close(self) -> None:
        """Give all descriptors back."""
        for rank in self._ranks.values():
            rank.close()
        for watched in self._watched.values():
            watched.close()
        self._ranks.clear()
        self._watched.clear()

    def _note_exits(self, wanted: set[tuple[int, float]]) -> None:
        for key, watched in list(self._watched.items()):
            ended = watched.exit()
            if ended is not None:
                self._exits.append(ended)
            # What has ended is no rank any more, but may have to be asked again how that was.
            if ended is not None or (key not in wanted and not watched.over):
                watched.close()
                del self._watched[key]
        self._exits = forget_old(self._exits)
        if self._root != Path("/"):
            return  # a made tree has no processes
        gone = {key_of(each) for each in self._exits}
        for key in wanted - self._watched.keys() - gone:
            with contextlib.suppress(OSError):
                self._watched[key] = Watched(*key)


class _Rank:
    """The threads of one rank."""

    def __init__(self, pid: int, start_time_seconds: float, root: Path, files: Descriptors) -> None:
        self._pid = pid
        self._start = start_time_seconds
        self._folder = f"{str(root).rstrip('/')}/proc/{pid}/task"
        self._descriptors = files
        self._main = KeptFiles(f"{self._folder}/{pid}", files)
        self._named: dict[int, KeptFiles] = {}
        self._known: set[int] = set()
        self._due = 0.0

    def close(self) -> None:
        """Give its descriptors back."""
        self._main.close()
        for files in self._named.values():
            files.close()
        self._named.clear()

    def read(self, process: ProcessReading | None) -> ThreadsReading | None:
        """
        Args:
            process: its latest reading, if there is one.

        Raises:
            OSError: when the process has ended.
        """
        now = time.monotonic()
        if now >= self._due:
            self._due = now + LIST_SECONDS
            self._list()
        fresh = process is not None and now - process.monotonic_seconds < FRESH_SECONDS
        main = self._main_thread_of(process) if process and fresh else self._main_thread()
        if main is None:
            return None
        others = [self._thread(tid, files) for tid, files in list(self._named.items())]
        return ThreadsReading(
            monotonic_seconds=now,
            missing={} if main.wait_channel or main.state == "R" else {"wait_channel": _DENIED},
            pid=self._pid,
            start_time_seconds=self._start,
            main=main,
            others=tuple(thread for thread in others if thread is not None),
            count=len(self._known),
        )

    def _list(self) -> None:
        tids = {int(name) for name in os.listdir(self._folder)[:_MOST_LISTED]}  # noqa: PTH208
        for tid in tids - self._known - {self._pid}:
            files = KeptFiles(f"{self._folder}/{tid}", self._descriptors)
            with contextlib.suppress(OSError):
                name = text(files.read_once("comm", 64))
                if name.startswith(NAMED) and len(self._named) < MOST_NAMED:
                    self._named[tid] = files
        for tid in self._named.keys() - tids:
            self._named.pop(tid).close()
        self._known = tids

    def _main_thread(self) -> ThreadReading | None:
        stat = parse_stat(self._main.read("stat", 1024))
        if stat is None:
            return None
        channel = None
        with contextlib.suppress(PermissionError):
            channel = parse_wait_channel(self._main.read("wchan"))
        voluntary, involuntary = parse_switches(self._main.read("status"))
        return ThreadReading(
            tid=self._pid,
            name=stat.name,
            state=stat.state,
            cpu_seconds=(stat.cpu_ticks or 0) / TICKS_PER_SECOND,
            wait_channel=channel if stat.state != "R" else None,
            voluntary_switches=voluntary,
            involuntary_switches=involuntary,
        )

    def _main_thread_of(self, process: ProcessReading) -> ThreadReading | None:
        """What the kernel says of a process is of its main thread, except the times of all threads."""
        if process.voluntary_switches is None or process.state is None:
            return self._main_thread()  # they are not read of every process
        cpu_seconds = process.cpu_seconds
        if cpu_seconds is None or process.threads != 1:
            stat = parse_stat(self._main.read("stat", 1024))
            if stat is None:
                return None
            cpu_seconds = (stat.cpu_ticks or 0) / TICKS_PER_SECOND
        return ThreadReading(
            tid=self._pid,
            name=process.name or "",
            state=process.state,
            cpu_seconds=cpu_seconds,
            wait_channel=process.wait_channel,
            voluntary_switches=process.voluntary_switches,
            involuntary_switches=process.involuntary_switches,
        )

    def _thread(self, tid: int, files: KeptFiles) -> ThreadReading | None:
        try:
            stat = parse_stat(files.read("stat", 1024))
        except OSError:
            return None
        if stat is None:
            return None
        return ThreadReading(
            tid=tid,
            name=stat.name,
            state=stat.state,
            cpu_seconds=(stat.cpu_ticks or 0) / TICKS_PER_SECOND,
        )


def make(context: Context) -> ThreadSource:
    """For the registry."""
    return ThreadSource(context.watchlist, latest=context.newest_process)
