"""What costs most of a frame and rarely changes, kept from one frame to the next by whoever derives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from ..jobs.grouping import Grouping
from ..model.topology_frames import TopologyFrame

Value = TypeVar("Value")


class Last(Generic[Value]):
    """The last outcome of a function, with what it was made of."""

    def __init__(self) -> None:
        self._last: tuple[object, Value] | None = None

    def of(self, made_of: object, make: Callable[[], Value]) -> Value:
        """The last outcome where it was made of the same, else a new one."""
        if self._last is None or self._last[0] != made_of:
            self._last = (made_of, make())
        return self._last[1]


class DeriveCache:
    """For the frames of one stream of samples. Frames are the same with it and without it."""

    def __init__(self) -> None:
        self.grouping: Last[Grouping] = Last()
        """It costs more than all the rest of a frame, and changes only when processes come, go or start
        another program."""
        self.topology: Last[TopologyFrame | None] = Last()
