"""A rank's time before it is split for its GPU: phases and utilization are of different moments, and are
compared over ten seconds only."""

from __future__ import annotations

import math

from ...probes.model.vocabulary import Origin
from .split import UNREAD, Load, Split, add, device_split

POOLED_SECONDS = 10.0
"""Utilization is the driver's mean over up to a second of its own choice, and a step may last longer."""


class Pool:
    """Seconds of a rank, with what the counters of its GPU said meanwhile."""

    __slots__ = ("_busy", "_launching", "_paid", "_power", "_slowed", "_sm", "host", "seconds")

    def __init__(self) -> None:
        self.host: Split = {}
        self.seconds = 0.0
        self._busy = _Mean()
        self._sm = _Mean()
        self._power = _Mean()
        self._slowed = _Mean()
        self._launching = 0.0
        """Seconds."""
        self._paid = 0.0
        """Seconds of its GPU, of which each of its ranks pays a part."""

    def add(
        self, host: Split, load: Load, seconds: float, *, part: float, launch_bound: bool
    ) -> None:
        """Time that passed.

        Args:
            host: what its host did.
            load: of its GPU.
            seconds: that passed.
            part: of its GPU that it pays; less than 1 where it shares it.
            launch_bound: its host fills a core and is not ahead of its GPU.
        """
        for key, share in host.items():
            add(self.host, key, share * seconds)
        self.seconds += seconds
        self._paid += seconds * part
        self._launching += seconds if launch_bound else 0.0
        if load.busy is not None:
            self._busy.add(load.busy, seconds)
            self._sm.add(load.sm, seconds)
            self._power.add(load.power, seconds)
            self._slowed.add(load.slowed, seconds)

    def merge(self, other: Pool) -> None:
        """More time."""
        for key, seconds in other.host.items():
            add(self.host, key, seconds)
        self.seconds += other.seconds
        self._paid += other._paid
        self._launching += other._launching
        self._busy.merge(other._busy)
        self._sm.merge(other._sm)
        self._power.merge(other._power)
        self._slowed.merge(other._slowed)

    def blame(self, key: tuple[str, Origin]) -> None:
        """All of it went to this."""
        self.host = {key: self.seconds}

    def device(self) -> Split:
        """Seconds of its GPU. Counters that were missing for most of the time say nothing of it."""
        load = UNREAD
        if self._busy.seconds > self.seconds / 2:
            load = Load(
                self._busy.value, self._sm.value, self._power.value, self._slowed.value or 0.0
            )
        split = device_split(self.host, load, launch_bound=self._launching > self.seconds / 2)
        part = self._paid / self.seconds if self.seconds else 0.0
        return split if part == 1.0 else {key: each * part for key, each in split.items()}


class _Mean:
    """Over the time in which something was read."""

    __slots__ = ("_sum", "seconds")

    def __init__(self) -> None:
        self._sum = 0.0
        self.seconds = 0.0

    @property
    def value(self) -> float | None:
        return self._sum / self.seconds if self.seconds else None

    def add(self, value: float | None, seconds: float) -> None:
        if value is not None and math.isfinite(value):
            self._sum += value * seconds
            self.seconds += seconds

    def merge(self, other: _Mean) -> None:
        self._sum += other._sum
        self.seconds += other.seconds
