"""Stacks of the processes that somebody asks for: never otherwise, never often, one after the other."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from ...model.rank_readings import StackReading
from ..context import Context
from ..procfs.target import start_time_of
from ..protocol import SourceAbsent
from ..stack_requests import StackRequests
from .py_spy import find_py_spy
from .reader import REINSTALL, StackReader
from .shares import Recorder, Sampled

EVERY_SECONDS = 2.0
"""Between two dumps of one process."""
SHARE = 0.5
"""Of the time that passes, which dumps may take; with many ranks they come round less often."""
_KEPT_SECONDS = 45.0
_SLACK_SECONDS = 0.05


class StackSource:
    """Takes the stacks that are asked for.

    Args:
        requests: says of which processes.
        binary: path of py-spy; by default the one that is installed.
        root: of the file system with ``proc`` in it.
    """

    name = "stacks"

    def __init__(
        self, requests: StackRequests, binary: str | None = None, root: Path = Path("/")
    ) -> None:
        self._requests = requests
        self._root = root
        self._binary = binary or find_py_spy()
        self._readers: dict[int, StackReader] = {}
        self._due: dict[int, float] = {}
        self._recorder = Recorder(self._binary, self._main_tid) if self._binary else None

    def read(self) -> tuple[StackReading, ...]:
        """What is known of each process that stacks were wanted of lately.

        Raises:
            SourceAbsent: without py-spy.
        """
        if self._binary is None:
            raise SourceAbsent(f"the py-spy binary is missing: {REINSTALL}")
        now = time.monotonic()
        wanted = self._requests.wanted(now)
        due = sorted(pid for pid in wanted if self._due.get(pid, 0.0) <= now + _SLACK_SECONDS)
        # Those that waited longest come first, so that all come round.
        for pid in sorted(due, key=lambda pid: self._due.get(pid, 0.0)):
            if time.monotonic() - now > SHARE:
                break
            self._take(pid, self._binary)
        self._forget(set(wanted))
        samples = self._record(now)
        return tuple(
            _with(samples.get(pid), reader.reading)
            for pid, reader in self._readers.items()
            if reader.reading.taken > 0
        )

    def close(self) -> None:
        """End what is going on."""
        if self._recorder is not None:
            self._recorder.close()

    def _record(self, now: float) -> Mapping[int, Sampled]:
        """Shares are taken of those alone of which dumps succeed."""
        if self._recorder is None:
            return {}
        open_ones = [
            pid
            for pid in self._requests.shares_wanted(now)
            if pid in self._readers and self._readers[pid].reading.main_stacks
        ]
        return self._recorder.tick(open_ones)

    def _main_tid(self, pid: int) -> int:
        reader = self._readers.get(pid)
        return pid if reader is None else reader.main_tid()

    def _take(self, pid: int, binary: str) -> None:
        began = start_time_of(pid, self._root)
        reader = self._readers.get(pid)
        if began is None:
            self._readers.pop(pid, None)
            return
        if reader is None or reader.reading.start_time_seconds != began:
            reader = self._readers[pid] = StackReader(pid, began, binary, self._root)
        reader.take()
        self._due[pid] = time.monotonic() + EVERY_SECONDS

    def _forget(self, wanted: set[int]) -> None:
        now = time.monotonic()
        for pid, reader in list(self._readers.items()):
            old = now - reader.reading.monotonic_seconds > _KEPT_SECONDS
            if pid not in wanted and old:
                del self._readers[pid]
        for pid in self._due.keys() - wanted - self._readers.keys():
            del self._due[pid]


def _with(sampled: Sampled | None, reading: StackReading) -> StackReading:
    found = sampled or Sampled(Counter(), runs=0)
    return replace(
        reading,
        phase_samples=dict(found.phases),
        pairwise_samples=found.pairwise,
        phase_runs=found.runs,
        mixed_runs=found.mixed,
    )


def make(context: Context) -> StackSource:
    """For the registry."""
    return StackSource(context.requests)
