"""What a trace is made of, whatever its format: groups of tracks, spans on them, and counters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

Argument = int | float | str


class Group(NamedTuple):
    """A process, or something else that is shown like one."""

    number: int
    """The pid; of what is no process, a number that no process can have."""
    name: str
    process: bool = False


class Track(NamedTuple):
    """A line of spans."""

    group: Group
    number: int
    name: str


class Clocks(NamedTuple):
    """The same moment on the clocks of the node, in nanoseconds."""

    unix: int
    monotonic: int
    boot: int


class TraceWriter(Protocol):
    """Takes spans and counters in any order; all moments are Unix time in nanoseconds."""

    def begin(self, clocks: Clocks) -> None:
        """Before anything else."""
        ...

    def span(
        self, track: Track, name: str, start: int, end: int, arguments: Mapping[str, Argument]
    ) -> None:
        """Something that lasted."""
        ...

    def count(self, group: Group, name: str, moment: int, value: float) -> None:
        """A value that stands until the next one."""
        ...

    def end(self) -> None:
        """Nothing comes any more."""
        ...
