"""Chrome's trace format, as torch.profiler writes it: JSON, opened by Perfetto and chrome://tracing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from .writer import Argument, Clocks, Group, Track

BASE_SECONDS = 7_889_238
"""A quarter of a year. torch.profiler counts from the beginning of the one in which it was started, in
``baseTimeNanoseconds``, so that microseconds have room for their fractions."""
_MICROSECOND = 1000


class ChromeWriter:
    """Writes events as they come.

    Args:
        write: takes the bytes of the file.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._base = 0
        self._named: set[Group | Track] = set()
        self._separator = b"\n"

    def begin(self, clocks: Clocks) -> None:
        base_nanoseconds = BASE_SECONDS * 1_000_000_000
        self._base = clocks.unix // base_nanoseconds * base_nanoseconds
        head = {"displayTimeUnit": "ms", "baseTimeNanoseconds": self._base, "traceName": "gputop"}
        self._write(msgspec.json.encode(head)[:-1] + b',"traceEvents":[')

    def span(
        self, track: Track, name: str, start: int, end: int, arguments: Mapping[str, Argument]
    ) -> None:
        self._name(track)
        self._event(
            ph="X",
            cat="gputop",
            name=name,
            pid=track.group.number,
            tid=track.number,
            ts=(start - self._base) / _MICROSECOND,
            dur=(end - start) / _MICROSECOND,
            args=dict(arguments),
        )

    def count(self, group: Group, name: str, moment: int, value: float) -> None:
        self._name(group)
        ts = (moment - self._base) / _MICROSECOND
        self._event(ph="C", name=name, pid=group.number, ts=ts, args={name: value})

    def end(self) -> None:
        self._write(b"\n]}\n")

    def _name(self, named: Group | Track) -> None:
        """Once, before the first event of it."""
        if named in self._named:
            return
        self._named.add(named)
        if isinstance(named, Track):
            self._name(named.group)
            where = {"pid": named.group.number, "tid": named.number}
            self._event(ph="M", name="thread_name", args={"name": named.name}, **where)
        else:
            self._event(ph="M", name="process_name", pid=named.number, args={"name": named.name})

    def _event(self, **event: Any) -> None:
        self._write(self._separator + msgspec.json.encode(event))
        self._separator = b",\n"
