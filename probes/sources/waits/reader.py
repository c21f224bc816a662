"""The wait of one process that stands still: its system call, and who has the other end of what that names.

All is read between two equal counts of the thread's context switches, else it may be of two waits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ...model.wait_readings import HAS_OPEN, HolderPart, HolderReading, ThingReading, WaitReading
from ..procfs.files import read_file
from ..procfs.redaction import mask_text
from ..procfs.text import parse_stat, parse_switches
from .file_locks import lock_awaited_by
from .holder import Holders
from .mutexes import owner_of
from .open_ends import Ends, OpenEnds, family_of
from .polled_locks import PolledLocks
from .sockets import FarEnd, far_end
from .system_call import SystemCall, system_call

FIRST_AGAIN_SECONDS, LAST_AGAIN_SECONDS = 5.0, 300.0
"""Who has the other ends is looked for again after so long, each time twice as long, while it waits on."""
_MOST_SOUGHT = 4
"""A server polls many sockets: whose far ends are not looked for."""
_MOST_HOLDERS = 8
_NO_ENDS = Ends((), False)


class WaitReader:
    """Looks at the main thread of one process, again and again.

    Args:
        pid: of the process.
        start_time_seconds: of that very process.
        root: of the file system with ``proc`` in it.
        open_ends: shared by those that look at the same time.
    """

    def __init__(
        self,
        pid: int,
        start_time_seconds: float,
        root: Path = Path("/"),
        open_ends: OpenEnds | None = None,
    ) -> None:
        self._pid = pid
        self._start = start_time_seconds
        self._root = root
        self._folder = f"{str(root).rstrip('/')}/proc/{pid}"
        self._holders = Holders(root)
        self._open_ends = open_ends or OpenEnds(root)
        self._last: tuple[str, tuple[str, ...]] | None = None
        """Verb and links of the last look."""
        self._ends = _NO_ENDS
        self._again = FIRST_AGAIN_SECONDS
        self._due = 0.0
        self._locks: PolledLocks | None = None
        self._asleep: WaitReading | None = None
        """The last reading, where it was of a sleep in which nothing was sought."""

    def close(self) -> None:
        """Give back what it holds."""
        if self._locks is not None:
            self._locks.close()
            self._locks = None

    def read(self) -> WaitReading | None:
        """``None`` where it runs, woke up meanwhile, or its wait may not be seen."""
        try:
            before = self._switches()
            if self._asleep is not None and self._asleep.switches == before:
                # It has not run since: it is in the same sleep, and cannot have tried a lock.
                return msgspec.structs.replace(self._asleep, monotonic_seconds=time.monotonic())
            self._asleep = None
            call = system_call(self._folder) if before is not None else None
            if before is None or call is None:
                return None
            things = tuple(self._polled() if call.is_sleep else self._things(call))
            if self._switches() != before:
                return None
        except OSError:
            return None
        reading = WaitReading(
            monotonic_seconds=time.monotonic(),
            pid=self._pid,
            start_time_seconds=self._start,
            switches=before,
            things=things,
            any_of=call.any_of,
        )
        self._asleep = reading if call.is_sleep and not things else None
        return reading

    def _switches(self) -> int | None:
        """``None`` where it runs, or its memory could not be read without hanging."""
        stat = parse_stat(read_file(f"{self._folder}/stat"))
        if stat is None or stat.state != "S":
            return None
        return parse_switches(read_file(f"{self._folder}/status"))[0]

    def _polled(self) -> Iterator[ThingReading]:
        """The lock that it tries between two sleeps."""
        self._locks = self._locks or PolledLocks(self._pid, self._root)
        lock = self._locks.look()
        holder = self._holders.look(lock.holder, "holds") if lock is not None else None
        if lock is not None and holder is not None:
            yield ThingReading(
                kind="file lock",
                name=mask_text(lock.path),
                call="tries to lock" if lock.opened else HAS_OPEN,
                holders=(holder,),
            )

    def _things(self, call: SystemCall) -> Iterator[ThingReading]:
        if call.is_futex:
            yield from self._mutex(call)
            return
        if call.path:
            self._seek(call.verb, {call.path})
            yield self._fifo(call.path, call)
            return
        links = {each: self._link(each) for each in call.descriptors}
        far = {link: self._far_end(link) for link in links.values() if link.startswith("socket:")}
        if len(links) <= _MOST_SOUGHT:
            self._seek(call.verb, _sought(links.values(), far))
        else:
            self._ends = _NO_ENDS
        for link in links.values():
            if link:
                yield self._thing(link, call, far.get(link))

    def _link(self, descriptor: int) -> str:
        try:
            link = os.readlink(f"{self._folder}/fd/{descriptor}".encode())  # noqa: PTH115
        except FileNotFoundError:
            return ""
        return link.decode("utf-8", "replace")

    def _far_end(self, link: str) -> FarEnd | None:
        inode = link.removeprefix("socket:[").removesuffix("]")
        return far_end(self._folder, int(inode)) if inode.isdigit() else None

    def _seek(self, verb: str, links: set[str]) -> None:
        """Look for who has these open, if it is time."""
        now, asked = time.monotonic(), (verb, tuple(sorted(links)))
        if asked != self._last:
            self._last, self._again, self._due = asked, FIRST_AGAIN_SECONDS, 0.0
        if now < self._due:
            return
        family = family_of(self._pid, self._root)
        self._ends = self._open_ends.find(links, family) if links else _NO_ENDS
        self._due = time.monotonic() + self._again
        self._again = min(LAST_AGAIN_SECONDS, 2 * self._again)

    def _thing(self, link: str, call: SystemCall, far: FarEnd | None) -> ThingReading:
        if link.startswith("pipe:"):
            return self._piped("pipe", link, call)
        if link.startswith("socket:"):
            return self._socket(link, call, far)
        if call.verb == "locks":
            return self._file_lock(link, call)
        if link.startswith("anon_inode:"):
            return ThingReading(kind="epoll", name=link, call=call.verb)
        if self._is_fifo(link):
            return self._piped("fifo", link, call)
        terminal = link.startswith(("/dev/pts/", "/dev/tty"))
        return ThingReading(
            kind="terminal" if terminal else "file", name=mask_text(link), call=call.verb
        )

    def _is_fifo(self, link: str) -> bool:
        """Its wait tells, without a touch of the file, whose mount may be dead."""
        channel = read_file(f"{self._folder}/wchan")
        return b"pipe_" in channel or any(
            each.link == link and each.pid == self._pid and each.mode == os.O_RDWR
            for each in self._ends.found
        )

    def _fifo(self, path: str, call: SystemCall) -> ThingReading:
        """It blocks in the opening until somebody opens the other end."""
        if b"wait_for_partner" not in read_file(f"{self._folder}/wchan"):
            return ThingReading(kind="file", name=mask_text(path), call=call.verb)
        return ThingReading(
            kind="fifo", name=mask_text(path), call=call.verb, all_seen=self._ends.all_seen
        )

    def _piped(self, kind: str, link: str, call: SystemCall) -> ThingReading:
        far = (os.O_RDONLY, os.O_RDWR) if call.verb == "writes" else (os.O_WRONLY, os.O_RDWR)
        part: HolderPart = "reads" if call.verb == "writes" else "writes"
        there = {each.pid for each in self._ends.found if each.link == link and each.mode in far}
        return ThingReading(
            kind="pipe" if kind == "pipe" else "fifo",
            name=mask_text(link),
            call=call.verb,
            holders=self._looked_at(there, part),
            own=self._pid in there,
            all_seen=self._ends.all_seen,
        )

    def _socket(self, link: str, call: SystemCall, far: FarEnd | None) -> ThingReading:
        if far is None:
            return ThingReading(kind="socket", name=link, call=call.verb)
        peer = f"socket:[{far.inode}]" if far.inode else ""
        there = {each.pid for each in self._ends.found if peer and each.link == peer}
        return ThingReading(
            kind=far.kind,
            name=far.name or link,
            call=call.verb,
            holders=self._looked_at(there, "peer"),
            own=self._pid in there,
            all_seen=bool(peer) and self._ends.all_seen,
        )

    def _file_lock(self, link: str, call: SystemCall) -> ThingReading:
        awaited = lock_awaited_by(self._pid, self._root)
        locking = {each.pid for each in self._ends.found if each.link == link and each.locks}
        if awaited is not None and awaited.holder is not None:
            locking.add(awaited.holder)
        locking.discard(self._pid)
        return ThingReading(
            kind="file lock",
            name=mask_text(link),
            call=call.verb,
            holders=self._looked_at(locking, "holds"),
            all_seen=awaited is not None and self._ends.all_seen,
        )

    def _mutex(self, call: SystemCall) -> Iterator[ThingReading]:
        owner = owner_of(call, self._folder, self._pid)
        if owner is None:
            return
        holder = self._holders.look(self._pid, "owns", owner)
        if holder is not None:
            back = self._waits_back(owner)
            yield ThingReading(
                kind="mutex",
                name=f"{call.arguments[0]:#x}",
                call=call.verb,
                holders=(msgspec.structs.replace(holder, waits_back=back),),
                all_seen=True,
            )

    def _waits_back(self, tid: int) -> bool:
        """That thread waits for a mutex which the main thread owns."""
        found = system_call(f"{self._folder}/task/{tid}")
        if found is None or not found.is_futex:
            return False
        return owner_of(found, self._folder, tid) == self._pid

    def _looked_at(self, pids: set[int], part: HolderPart) -> tuple[HolderReading, ...]:
        others = sorted(pids - {self._pid})[:_MOST_HOLDERS]
        looked = (self._holders.look(pid, part) for pid in others)
        return tuple(each for each in looked if each is not None)


def _sought(links: Iterable[str], far: dict[str, FarEnd | None]) -> set[str]:
    """What to look for among all descriptors: pipes and files themselves, of a socket its other one."""
    found: set[str] = set()
    for link in links:
        if link.startswith("socket:"):
            end = far.get(link)
            if end is not None and end.inode:
                found.add(f"socket:[{end.inode}]")
        elif link and not link.startswith("anon_inode:"):
            found.add(link)
    return found
