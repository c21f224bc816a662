"""One rank over time: rates that hold for a stretch, and their exact integrals at any moment.

Time is counted in whole microseconds and rates in thousandths, so that the sums are integers: a
counter made of them never goes backwards and never drifts, however far from the start it is read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from .activity import Activity

MICROSECONDS = 1_000_000
UNIT = 1000 * MICROSECONDS
"""An integral divided by this is in the unit of its rate times one second."""

Integrals = tuple[int, ...]
"""In the order of `activity.CHANNELS`."""

PHASES = (
    "data",
    "h2d",
    "forward",
    "backward",
    "comm",
    "optimizer",
    "other",
    "sync",
    "startup",
    "compile",
    "checkpoint",
    "eval",
    "idle",
)


class Stretch(NamedTuple):
    """A time in which nothing changes."""

    duration: int
    """Microseconds."""
    phase: str
    activity: Activity


class Spell(NamedTuple):
    """The phase that a rank is in."""

    phase: str
    began: int
    """Microseconds."""
    phase_integrals: tuple[int, ...]
    """Microseconds in each of `PHASES` so far."""


def mean_rates(now: Integrals, before: Integrals, duration: int) -> Activity:
    """The mean rates over a time of so many microseconds."""
    scale = 1.0 / (duration * 1000)
    return Activity._make([(a - b) * scale for a, b in zip(now, before, strict=True)])


class Loop:
    """Stretches that repeat for ever from a moment on, on top of what was before.

    Args:
        start: when the first of them begins, in microseconds.
        stretches: what repeats.
        before: where the integrals stand at the start.
        phases_before: the same for the time in each phase.
    """

    def __init__(
        self,
        start: int,
        stretches: Sequence[Stretch],
        before: Integrals | None = None,
        phases_before: Integrals | None = None,
    ) -> None:
        self.start = start
        self._before = before or (0,) * len(Activity._fields)
        self._phases_before = phases_before or (0,) * len(PHASES)
        rates = {
            activity: tuple([round(rate * 1000) for rate in activity])
            for activity in {each.activity for each in stretches}
        }
        self._rates = [rates[each.activity] for each in stretches]
        self._phases = [PHASES.index(each.phase) for each in stretches]
        self._add_up(stretches)

    def _add_up(self, stretches: Sequence[Stretch]) -> None:
        self._starts: list[int] = []
        self._began: list[int] = []
        self._sums: list[Integrals] = []
        self._phase_sums: list[Integrals] = []
        now, total, phases = 0, (0,) * len(Activity._fields), [0] * len(PHASES)
        for number, (stretch, rates) in enumerate(zip(stretches, self._rates, strict=True)):
            goes_on = number > 0 and stretches[number - 1].phase == stretch.phase
            self._began.append(self._began[-1] if goes_on else now)
            self._starts.append(now)
            self._sums.append(total)
            self._phase_sums.append(tuple(phases))
            now += stretch.duration
            duration = stretch.duration
            total = tuple([sum_ + rate * duration for sum_, rate in zip(total, rates, strict=True)])
            phases[self._phases[number]] += stretch.duration
        self._period, self._total, self._phase_total = now, total, tuple(phases)

    def integrals(self, moment: int) -> Integrals:
        """Where every integral stands."""
        turns, position = divmod(moment - self.start, self._period)
        number = bisect_right(self._starts, position) - 1
        inside = position - self._starts[number]
        return tuple(
            [
                before + turns * total + sum_ + rate * inside
                for before, total, sum_, rate in zip(
                    self._before,
                    self._total,
                    self._sums[number],
                    self._rates[number],
                    strict=True,
                )
            ]
        )

    def integral(self, moment: int, channel: int) -> int:
        """Where one of them stands."""
        turns, position = divmod(moment - self.start, self._period)
        number = bisect_right(self._starts, position) - 1
        inside = self._rates[number][channel] * (position - self._starts[number])
        turned = turns * self._total[channel] + self._sums[number][channel]
        return self._before[channel] + turned + inside

    def spell(self, moment: int) -> Spell:
        """The phase at that moment."""
        turns, position = divmod(moment - self.start, self._period)
        number = bisect_right(self._starts, position) - 1
        sums = [
            before + turns * total + sum_
            for before, total, sum_ in zip(
                self._phases_before, self._phase_total, self._phase_sums[number], strict=True
            )
        ]
        phase = self._phases[number]
        sums[phase] += position - self._starts[number]
        began = self.start + turns * self._period + self._began[number]
        return Spell(PHASES[phase], began, tuple(sums))


class Timeline:
    """Loops one after the other."""

    def __init__(self, start: int, stretches: Sequence[Stretch]) -> None:
        self._loops = [Loop(start, stretches)]

    def change(self, moment: int, stretches: Sequence[Stretch]) -> None:
        """From that moment on, which is later than any before, other stretches repeat."""
        last = self._loops[-1]
        phases = last.spell(moment).phase_integrals
        self._loops.append(Loop(moment, stretches, last.integrals(moment), phases))

    def integrals(self, moment: int) -> Integrals:
        """As `Loop.integrals`; nothing has happened before the start."""
        return self._loop(moment).integrals(max(moment, self._loops[0].start))

    def integral(self, moment: int, channel: int) -> int:
        """As `Loop.integral`."""
        return self._loop(moment).integral(max(moment, self._loops[0].start), channel)

    def spell(self, moment: int) -> Spell:
        """As `Loop.spell`."""
        return self._loop(moment).spell(max(moment, self._loops[0].start))

    def _loop(self, moment: int) -> Loop:
        for loop in reversed(self._loops):
            if moment >= loop.start:
                return loop
        return self._loops[0]
