"""What processes that stand still wait for, and who holds it: looked up on request alone, for it is dear."""

from __future__ import annotations

import time
from pathlib import Path

from ...model.wait_readings import WaitReading
from ..context import Context
from ..procfs.target import start_time_of
from ..requests import Requests
from .open_ends import OpenEnds
from .reader import WaitReader

MOST = 64
SHARE = 0.3
"""Of a second, which one round may take; with many processes they take turns."""


class WaitSource:
    """Looks at the processes that are asked for.

    Args:
        requests: says which.
        root: of the file system with ``proc`` in it.
    """

    name = "waits"

    def __init__(self, requests: Requests, root: Path = Path("/")) -> None:
        self._requests = requests
        self._root = root
        self._open_ends = OpenEnds(root)
        self._readers: dict[tuple[int, float], WaitReader] = {}
        self._read: dict[tuple[int, float], WaitReading | None] = {}

    def read(self) -> tuple[WaitReading, ...]:
        """Of each of them that waits, where that may be seen."""
        began = time.monotonic()
        wanted = dict.fromkeys(self._keys(self._requests.wanted(began)))
        for key in self._readers.keys() - wanted.keys():
            self._readers.pop(key).close()
        self._readers = {key: self._readers.get(key) or self._reader(key) for key in wanted}
        self._read = {key: self._read.get(key) for key in wanted}
        for key in sorted(wanted, key=self._age):
            if time.monotonic() - began > SHARE:
                break
            self._read[key] = self._readers[key].read()
        return tuple(each for each in self._read.values() if each is not None)

    def close(self) -> None:
        """Give back what its readers hold."""
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()

    def _keys(self, pids: list[int]) -> list[tuple[int, float]]:
        started = {pid: start_time_of(pid, self._root) for pid in pids[:MOST]}
        return [(pid, at) for pid, at in started.items() if at is not None]

    def _reader(self, key: tuple[int, float]) -> WaitReader:
        return WaitReader(*key, self._root, self._open_ends)

    def _age(self, key: tuple[int, float]) -> float:
        """Those looked at longest ago come first."""
        reading = self._read.get(key)
        return 0.0 if reading is None else reading.monotonic_seconds


def make(context: Context) -> WaitSource:
    """For the registry."""
    return WaitSource(context.waits)
