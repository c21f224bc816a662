"""The directories that pages lie in, and the pages of the dead among them.

A page outlives its process where that was killed. It is what there is to learn from, so it is reported
for a day and left where it is: removing it is for the owner's next probe. There may be thousands, so
only the newest are read, each once; of the others the name and the inode are all that is kept.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from itertools import islice

import msgspec

from ...model.probe_readings import ProbeReading
from ..procfs.files import read_file
from ..procfs.text import parse_stat
from .location import PAGE_NAME, Owner, PageRefused, open_in, trusted_directory
from .reader import reader_of
from .state import NANOSECONDS

_LIST_SECONDS = 10.0
_TOLD_SECONDS = 24 * 3600.0
_TOUCH_SECONDS = 1200.0
"""The living touch their pages more often than that."""
_MOST_NAMES = 65_536
_MOST_DEAD = 16
"""In one directory: the pages of one user do not push out those of another."""
_MOST_KEPT = 64
"""Of those that died while they were watched."""
_MOST_OPENED = 256
"""At one look into a directory."""
_STAT_BYTES = 1024

_Key = tuple[int, int, int]
"""User, pid in the job's own namespace, start time."""


class _Dead(msgspec.Struct):
    reading: ProbeReading
    directory: str
    reported: int = 0


class _Found(msgspec.Struct):
    """A page of which nothing is known yet but that its process is not to be seen here."""

    name: str
    inode: int
    pid: int
    ticks: int


class _Directory(msgspec.Struct):
    """One that was looked into."""

    changed: int = -1
    due: float = 0.0
    settled: dict[str, int] = {}
    """Name → inode of the pages of the dead that are not looked at again: read, refused, or too many."""


class PageDirectories:
    """Looks where probes of this user, or of all users for root, make their pages.

    Args:
        root: of the file system, without the slash at its end.
        user_id: of whoever runs this.
    """

    def __init__(self, root: str, user_id: int) -> None:
        self._root = root
        self._user_id = user_id
        self._paths: dict[str, int] = {}
        self._paths_due = 0.0
        self._seen: dict[str, _Directory] = {}
        self._living: dict[str, frozenset[int]] = {}
        self._dead: dict[_Key, _Dead] = {}

    def look(self) -> tuple[frozenset[int], frozenset[int]]:
        """The living processes that have a page, and those of them that are new since the last look."""
        now = time.monotonic()
        if now >= self._paths_due:
            self._paths_due = now + _LIST_SECONDS
            self._paths = dict(self._directories())
        before = frozenset[int]().union(*self._living.values())
        for path, user_id in self._paths.items():
            if self._has_changed(path, now):
                self._list(path, user_id)
        living = frozenset[int]().union(*self._living.values())
        return living, living - before

    def keep_page_of(self, owner: Owner, left: ProbeReading | None) -> None:
        """A process that was watched is gone, and this is what it has left."""
        if left is not None:
            self._dead[owner.user_id, owner.inner_pid, owner.start_ticks] = _Dead(left, "")
            self._keep_newest("", _MOST_KEPT)

    def dead(self) -> Iterator[ProbeReading]:
        """What the dead of the last day have left. Their history is reported twice, and then no more."""
        now = time.monotonic()
        for key, dead in list(self._dead.items()):
            if now - (dead.reading.ended_monotonic_seconds or 0.0) > _TOLD_SECONDS:
                del self._dead[key]
                continue
            yield dead.reading
            dead.reported += 1
            if dead.reported == 2:  # a reading may be replaced by the next before a sample takes it
                dead.reading = msgspec.structs.replace(dead.reading, steps=(), segments=())

    def _directories(self) -> Iterator[tuple[str, int]]:
        """Path below the root, and the user whose it must be."""
        runtime = os.environ.get("XDG_RUNTIME_DIR", "")
        if runtime.startswith("/"):
            yield f"{runtime.rstrip('/')}/gputop", self._user_id
        for user_id in self._users():
            yield f"/run/user/{user_id}/gputop", user_id
            yield f"/dev/shm/gputop-{user_id}", user_id

    def _users(self) -> set[int]:
        users = {self._user_id}
        if self._user_id == 0:
            for folder, prefix in (("/run/user", ""), ("/dev/shm", "gputop-")):
                with contextlib.suppress(OSError):
                    names = os.listdir(self._root + folder)[:_MOST_NAMES]  # noqa: PTH208
                    found = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
                    users.update(int(name) for name in found if name.isdecimal() and len(name) < 11)
        return users

    def _has_changed(self, path: str, now: float) -> bool:
        try:
            changed = os.stat(self._root + path, follow_symlinks=False).st_mtime_ns  # noqa: PTH116
        except OSError:
            self._living.pop(path, None)
            return False
        seen = self._seen.setdefault(path, _Directory())
        if changed == seen.changed and now < seen.due:
            return False
        seen.changed, seen.due = changed, now + _LIST_SECONDS
        return True

    def _list(self, path: str, user_id: int) -> None:
        self._living.pop(path, None)
        anchor = os.open(self._root or "/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with (
                contextlib.suppress(OSError),
                trusted_directory(anchor, path, user_id) as directory,
            ):
                self._look_into(path, directory, user_id)
        finally:
            os.close(anchor)
        self._keep_newest(path, _MOST_DEAD)

    def _look_into(self, path: str, directory: int, user_id: int) -> None:
        """Find the living; the dead are taken up."""
        seen = self._seen[path]
        living: set[int] = set()
        gone: list[_Found] = []
        settled: dict[str, int] = {}
        running: set[int] | None = None
        for name, inode in _listed(directory):
            if seen.settled.get(name) == inode:
                settled[name] = inode
                continue
            parts = PAGE_NAME.fullmatch(name)
            if parts is None:
                continue
            found = _Found(name, inode, int(parts[1]), int(parts[2]))
            running = self._running() if running is None else running
            if found.pid in running and self._lives(found.pid, found.ticks):
                living.add(found.pid)
            else:
                gone.append(found)
        seen.settled = settled
        self._living[path] = frozenset(living)
        self._take_up_newest(seen, gone, path, directory, user_id)

    def _running(self) -> set[int]:
        """All pids: one look at the list costs less than a look for each that is gone."""
        return {int(name) for name in os.listdir(f"{self._root}/proc") if name.isdecimal()}  # noqa: PTH208

    def _lives(self, pid: int, ticks: int) -> bool:
        try:
            stat = parse_stat(read_file(f"{self._root}/proc/{pid}/stat", _STAT_BYTES))
        except OSError:
            return False
        return stat is not None and stat.start_ticks == ticks and stat.state not in "ZX"

    def _take_up_newest(
        self, seen: _Directory, gone: list[_Found], path: str, directory: int, user_id: int
    ) -> None:
        dated: list[tuple[float, _Found]] = []
        for found in gone:
            with contextlib.suppress(OSError):
                status = os.stat(found.name, dir_fd=directory, follow_symlinks=False)
                dated.append((status.st_mtime, found))
        dated.sort(key=lambda each: each[0], reverse=True)
        now = time.time()
        opened = taken = 0
        for touched, found in dated:
            key = (user_id, found.pid, found.ticks)
            surely_dead = now - touched > _TOUCH_SECONDS  # else perhaps in another PID namespace
            if key in self._dead or (taken >= _MOST_DEAD and surely_dead):
                seen.settled[found.name] = found.inode
            elif opened < _MOST_OPENED:
                opened += 1
                if self._take_up(key, path, directory, found.name, read=taken < _MOST_DEAD):
                    seen.settled[found.name] = found.inode
                    taken += key in self._dead

    def _take_up(self, key: _Key, path: str, directory: int, name: str, *, read: bool) -> bool:
        """Read what a dead process has left. False: it may live, and is to be looked at again."""
        user_id, pid, ticks = key
        now = time.monotonic_ns()
        try:
            descriptor = open_in(directory, name, user_id)
            reader = reader_of(descriptor, Owner(pid, pid, ticks, user_id))
        except (OSError, PageRefused):
            return True
        if reader is None:
            return False
        try:
            if reader.held():
                return False  # it lives in another PID namespace
            if not read:
                return True
            since_touched = max(0.0, time.time() - reader.touched_at())
            touched = now - int(since_touched * NANOSECONDS)
            ended = min(now, max(touched, reader.last_sign_of_life(now)))
            self._dead[key] = _Dead(reader.read(now, ended=ended), path)
        except PageRefused:
            return True
        finally:
            reader.close()
        return True

    def _keep_newest(self, path: str, most: int) -> None:
        here = [(key, dead) for key, dead in self._dead.items() if dead.directory == path]
        here.sort(key=lambda each: each[1].reading.ended_monotonic_seconds or 0.0)
        for key, _ in here[:-most]:
            del self._dead[key]


def _listed(directory: int) -> Iterator[tuple[str, int]]:
    """Name and inode of what lies in it."""
    listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    try:
        with os.scandir(listed) as entries:
            for entry in islice(entries, _MOST_NAMES):
                yield entry.name, entry.inode()
    finally:
        os.close(listed)
