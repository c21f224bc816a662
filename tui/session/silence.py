"""For how long nothing has come, and whose fault that is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from ...probes.scheduling.patience import Patience
from ...probes.scheduling.words import starved_sentence


class Silence:
    """Time since something came, less that in which this front end was stopped or not run.

    The threads of the collector are looked at only once it is late: then they tell whether it gets
    no CPU, or hangs.

    Args:
        pids: of the processes that are waited for.
        clock: monotonic seconds.
    """

    def __init__(
        self, pids: Callable[[], Sequence[int]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pids = pids
        self._clock = clock
        self._came = self._looked = clock()
        self._lost = 0.0
        self._patience: Patience | None = None

    def came(self) -> None:
        """Something has."""
        self._came, self._lost, self._patience = self._clock(), 0.0, None

    def look(self, meant_seconds: float, *, late_after: float) -> None:
        """Regularly, from where time passes also when nothing comes.

        Args:
            meant_seconds: between two looks; what is more, this process was stopped or not run.
            late_after: seconds after which whatever is to come is late.
        """
        now = self._clock()
        late = now - max(self._looked, self._came) - meant_seconds
        self._looked = now
        self._lost += max(0.0, late)
        if self._patience is not None:
            self._patience.look(meant_seconds)
        elif self.seconds > late_after:
            self._patience = Patience(os.getpid(), *self._pids(), clock=self._clock)

    @property
    def seconds(self) -> float:
        """For how long it has been silent."""
        return max(0.0, self._clock() - self._came - self._lost)

    @property
    def why(self) -> str:
        """One sentence where want of a core explains it; else empty."""
        starved = self._patience is not None and self._patience.starved
        return starved_sentence() if starved else ""
