"""What means one process for ever: a pid alone comes back."""

from __future__ import annotations

from typing import Protocol

Key = tuple[int, float]
"""Pid and start time."""


class Started(Protocol):
    """A process, or what was read of one."""

    @property
    def pid(self) -> int: ...
    @property
    def start_time_seconds(self) -> float: ...


def key_of(process: Started) -> Key:
    """Which process it is, or is of."""
    return (process.pid, process.start_time_seconds)
