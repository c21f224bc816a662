"""What the factories of sources are given: all that sources share with each other."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ..model.process_readings import ProcessReading
from .protocol import Source
from .requests import Requests
from .stack_requests import StackRequests
from .watchlist import Watchlist


def _never_read(_pid: int, _start_time_seconds: float) -> ProcessReading | None:
    return None


class Context(msgspec.Struct):
    """One for all sources of a collector."""

    watchlist: Watchlist
    """Which processes are worth reading."""
    requests: StackRequests
    """Of which processes stacks are wanted."""
    add: Callable[[Source], None]
    """Takes up one more source, for one that finds others: NVML its GPUs."""
    waits: Requests = msgspec.field(default_factory=Requests)
    """Of which processes it is wanted what they wait for."""
    newest_process: Callable[[int, float], ProcessReading | None] = _never_read
    """The last reading of the process of that pid and start time. The source of processes sets it."""
