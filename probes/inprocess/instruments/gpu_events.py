"""The GPU's clock: events of torch, taken from a pool, on the stream that the loop uses."""

from __future__ import annotations

from typing import Any

POOL = 512
"""Events in all: some 60 steps whose times the GPU has not reached yet."""


class Events:
    """What can be asked of the GPU's clock. Nothing here waits for the GPU or makes a context on it.

    Args:
        torch: the module.
    """

    def __init__(self, torch: Any) -> None:
        self._cuda = torch.cuda
        self._free: list[Any] = []
        self._made = 0
        self._initialized = False

    def usable(self) -> bool:
        """Whether an event that is recorded now is a moment: not before the job has used the GPU, and
        not while a graph is captured, where it would become part of the graph."""
        if not self._initialized:
            self._initialized = bool(self._cuda.is_initialized())
            if not self._initialized:
                return False
        return not self._cuda.is_current_stream_capturing()

    def record(self) -> Any:
        """An event recorded now; ``None`` where the pool is empty."""
        if self._free:
            event = self._free.pop()
        elif self._made < POOL:
            self._made += 1
            event = self._cuda.Event(enable_timing=True)
        else:
            return None
        event.record()
        return event

    def give_back(self, events: list[Any]) -> None:
        """They are not needed any more."""
        self._free += events
