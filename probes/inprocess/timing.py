"""How long the calls of an instrument take, measured around real ones."""

from __future__ import annotations

from time import thread_time_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Timed(Protocol):
        """An instrument whose calls are measured."""

        timing: Timing | None


CALLS = 16
"""Of one batch."""
_TRIALS = 32


class Timing:
    """One batch: the next few calls, in CPU time of whatever thread makes them.

    Time in which the thread was off its core is none of it, so a busy neighbor makes nothing costly.

    Attributes:
        now: the clock that the parts of a call are read from.
        spent: nanoseconds of each call so far.
    """

    now = staticmethod(thread_time_ns)

    def __init__(self, instrument: Timed, reading_nanoseconds: int) -> None:
        self._instrument = instrument
        self._reading = reading_nanoseconds
        self.spent: list[int] = []

    def add(self, *parts: int) -> None:
        """A call is over; what it took before and after what it is around."""
        self.spent.append(max(0, sum(parts) - len(parts) * self._reading))
        if len(self.spent) >= CALLS:
            self._instrument.timing = None


def reading_nanoseconds() -> int:
    """What it takes to read the clock: it is in every part, and is not the instrument's."""
    return min([-(thread_time_ns() - thread_time_ns()) for _ in range(_TRIALS)])
