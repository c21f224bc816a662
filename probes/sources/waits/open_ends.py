"""Who else has a pipe, socket or file open: found by looking at the descriptors of all processes.

This is the dearest of all looks, so it is bounded in time and shared, looks at the family of whoever waits
in any case, and says whether it saw everybody: only then "nobody" may be said.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..procfs.files import read_file
from ..procfs.text import parse_pids
from ..procfs.visibility import in_first_pid_namespace

MOST_SECONDS = 0.25
_MOST_DESCRIPTORS = 4096
_MOST_PROCESSES = 8192
_FRESH_SECONDS = 2.0


class _Descriptor(NamedTuple):
    pid: int
    name: str
    link: str


class OpenEnd(NamedTuple):
    """One process that has it open."""

    pid: int
    link: str
    """As `/proc/PID/fd` shows it: ``pipe:[77]``."""
    mode: int
    """``os.O_RDONLY``, ``os.O_WRONLY`` or ``os.O_RDWR``."""
    locks: bool
    """It holds a lock of the file by that descriptor."""


class Ends(NamedTuple):
    """All that was found."""

    found: tuple[OpenEnd, ...]
    all_seen: bool


class OpenEnds:
    """The descriptors of all processes, listed once for all who ask within a short time.

    Args:
        root: of the file system with ``proc`` in it.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._proc = f"{str(root).rstrip('/')}/proc"
        self._listed: dict[str, list[_Descriptor]] = {}
        self._all_seen = False
        self._until = 0.0

    def find(self, links: Collection[str], family: Iterable[int] = ()) -> Ends:
        """Every process that has one of these open.

        Args:
            links: as descriptors show them.
            family: pids that are looked at in any case: of whoever waits, and its children.
        """
        if time.monotonic() >= self._until:
            self._list()
        found = {each for link in links for each in self._listed.get(link, ())}
        if not self._all_seen:
            wanted = frozenset(links)
            for pid in family:
                with contextlib.suppress(OSError):
                    found.update(each for each in self._of(pid) if each.link in wanted)
        ends = [end for each in sorted(found) if (end := self._looked_at(each)) is not None]
        return Ends(tuple(ends), self._all_seen)

    def _list(self) -> None:
        began = time.monotonic()
        self._listed, self._all_seen = {}, in_first_pid_namespace(self._proc)
        for pid in _youngest_first(self._proc):
            if time.monotonic() - began > MOST_SECONDS:
                self._all_seen = False
                break
            try:
                for each in self._of(pid):
                    self._listed.setdefault(each.link, []).append(each)
            except PermissionError:
                self._all_seen = False
            except OSError:
                continue  # it has ended
        self._until = time.monotonic() + _FRESH_SECONDS

    def _of(self, pid: int) -> Iterator[_Descriptor]:
        folder = f"{self._proc}/{pid}/fd"
        for name in os.listdir(folder)[:_MOST_DESCRIPTORS]:  # noqa: PTH208 - no Path per file
            try:
                link = os.readlink(f"{folder}/{name}".encode())  # noqa: PTH115
            except FileNotFoundError:
                continue  # it was closed meanwhile
            yield _Descriptor(pid, name, link.decode("utf-8", "replace"))

    def _looked_at(self, each: _Descriptor) -> OpenEnd | None:
        try:
            info = read_file(f"{self._proc}/{each.pid}/fdinfo/{each.name}")
        except OSError:
            return None
        return OpenEnd(each.pid, each.link, _mode(info), b"\nlock:" in info)


def family_of(pid: int, root: Path = Path("/")) -> list[int]:
    """Itself and its children, by the kernel's list of them."""
    found = [pid]
    try:
        for task in (root / f"proc/{pid}/task").iterdir():
            found += parse_pids(read_file(task / "children", 1 << 16))
    except OSError:
        pass
    return found


def _youngest_first(proc: str) -> list[int]:
    """Who shares something with a job was mostly started with it."""
    pids = [int(name) for name in os.listdir(proc) if name.isdigit()]  # noqa: PTH208 - as above
    return sorted(pids, reverse=True)[:_MOST_PROCESSES]


def _mode(info: bytes) -> int:
    for line in info.split(b"\n"):
        if line.startswith(b"flags:"):
            return int(line[6:].strip() or b"0", 8) & os.O_ACCMODE
    return os.O_RDWR
