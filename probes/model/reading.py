"""What every reading has, and what means one process for ever."""

from __future__ import annotations

from typing import Protocol

import msgspec

Missing = dict[str, str]
"""Field name → why it is ``None``, as a short phrase such as ``not supported by this GPU``."""


class Reading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The base of all readings."""

    monotonic_seconds: float
    """When it was taken, on the node's monotonic clock."""
    missing: Missing = {}


Key = tuple[int, float]
"""Pid and start time: a pid alone comes back."""


class Started(Protocol):
    """A process, or what was read of one."""

    @property
    def pid(self) -> int: ...
    @property
    def start_time_seconds(self) -> float: ...


def key_of(process: Started) -> Key:
    """Which process it is, or is of."""
    return (process.pid, process.start_time_seconds)
