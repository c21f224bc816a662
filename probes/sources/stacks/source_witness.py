"""What a program's own source tells of where its threads are: as much of it as the main thread's wait asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from ...model.rank_readings import BusyLoop, FileLoop, StackThreadReading
from ...model.wait_kinds import WaitKind, wait_kind
from ..procfs.files import read_file
from ..procfs.text import parse_wait_channel
from .busy_loops import busy_loop
from .decode import lines_of_threads, own_lines
from .file_loops import file_loop
from .handing_over import hands_over
from .looked_for import Dump, LookedFor
from .program_source import SourceLine

_MOST_THREADS = 16
"""Of more it is not looked up which of them may serve the main one."""


class Told(NamedTuple):
    """By the source."""

    threads: tuple[StackThreadReading, ...]
    file_loop: FileLoop | None = None
    busy_loop: BusyLoop | None = None


class SourceWitness:
    """Reads the sources of one program.

    Args:
        proc: its folder in ``/proc``.
        tid_here: the number here of a thread that is known by its number in its own namespace.
        dump: takes one dump of it, with variables.
    """

    def __init__(self, proc: Path, tid_here: Callable[[int], int | None], dump: Dump) -> None:
        self._proc = proc
        self._looked_for = LookedFor(proc, dump)
        self._root = str(proc / "root")
        self._tid_here = tid_here

    def look(
        self,
        threads: tuple[StackThreadReading, ...],
        dump: bytes,
        main_tid: int,
        state: str | None,
    ) -> Told:
        """Of these threads, as that dump has them."""
        wait = self._wait_of(self._proc)
        if wait == "timer":  # whoever waits otherwise looks for nothing again
            return Told(threads, file_loop=self._file_loop(dump, main_tid))
        if wait is None and state == "R":
            return Told(threads, busy_loop=busy_loop(own_lines(dump, main_tid), self._root))
        if wait == "lock" and 1 < len(threads) <= _MOST_THREADS:
            lines = lines_of_threads(dump)
            serving = (each if each.main else self._serving(each, lines) for each in threads)
            return Told(tuple(serving))
        return Told(threads)

    def _file_loop(self, dump: bytes, main_tid: int) -> FileLoop | None:
        found = file_loop(own_lines(dump, main_tid), self._root)
        if found is None:
            return None
        path = self._looked_for.path(found, main_tid)
        return replace(found.loop, path=path) if path else found.loop

    def _serving(
        self, thread: StackThreadReading, lines: Mapping[int, tuple[SourceLine, ...]]
    ) -> StackThreadReading:
        if thread.of_probe:
            return replace(thread, hands_over=False)
        tid = thread.os_thread_id
        here = None if tid is None else self._tid_here(tid)
        if tid is None or here is None:
            return thread
        wait = self._wait_of(self._proc / "task" / str(here))
        if wait not in (None, "lock", "timer"):
            # What comes from outside it may hand on.
            return replace(thread, hands_over=True, sleeps=False)
        handing = hands_over(lines.get(tid, ()), self._root)
        return replace(thread, hands_over=handing, sleeps=wait == "timer")

    def _wait_of(self, folder: Path) -> WaitKind | None:
        try:
            return wait_kind(parse_wait_channel(read_file(folder / "wchan")))
        except OSError:
            return None
