"""The time of one subject as it comes in: a sum over the watch, and the last minute; bounded, and cheap to add to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...probes.model.vocabulary import Origin
from ..finding import Account, Entry, Subject
from .split import Split

MINUTE_SECONDS = 60.0
_SLOT_SECONDS = 5.0
_NOTHING = 1e-9


class _Slot:
    """Time that ended together."""

    __slots__ = ("end", "seconds", "spent")

    def __init__(self, end: float, seconds: float, spent: Split) -> None:
        self.end = end
        self.seconds = seconds
        self.spent = spent


class Track:
    """Seconds by what they were spent on. Times are monotonic seconds."""

    __slots__ = ("_slots", "_spent", "unseen_seconds")

    def __init__(self) -> None:
        self._spent: Split = {}
        self._slots: list[_Slot] = []
        self.unseen_seconds = 0.0
        """Time that passed without being read."""

    def __len__(self) -> int:
        """How many pieces are kept."""
        return len(self._spent) + len(self._slots)

    def add(self, spent: Split, now: float) -> None:
        """Seconds that ended now."""
        seconds = sum(spent.values())
        if seconds <= 0:
            return
        join(self._spent, spent)
        last = self._slots[-1] if self._slots else None
        if last is not None and last.seconds + seconds <= _SLOT_SECONDS:
            join(last.spent, spent)
            last.end, last.seconds = now, last.seconds + seconds
        else:
            self._slots.append(_Slot(now, seconds, dict(spent)))
            self._forget(now)

    def take(self, other: Track, now: float) -> None:
        """Go on with the time of another that has ended."""
        join(self._spent, other._spent)
        self.unseen_seconds += other.unseen_seconds
        self._slots = sorted([*self._slots, *other._slots], key=lambda slot: slot.end)
        self._forget(now)

    def whole(self) -> Split:
        """Seconds of the whole watch."""
        return self._spent

    def since(self, start: float) -> Split:
        """Seconds that ended later than that; of what began before, its part."""
        found: Split = {}
        for slot in self._slots:
            if slot.end > start:
                join(found, slot.spent, min(1.0, (slot.end - start) / slot.seconds))
        return found

    def _forget(self, now: float) -> None:
        if self._slots and self._slots[0].end < now - MINUTE_SECONDS:
            self._slots = [slot for slot in self._slots if slot.end >= now - MINUTE_SECONDS]


class Part(NamedTuple):
    """Seconds of a subject, or of one of several that make one up, over each time."""

    minute: Split
    watch: Split
    unseen: float

    @classmethod
    def of(
        cls, track: Track, now: float, unsettled: Split | None = None, *, with_minute: bool = True
    ) -> Part:
        """What a track says, and the seconds that it will be added next: they run until now."""
        minute = track.since(now - MINUTE_SECONDS) if with_minute else {}
        watch = dict(track.whole())
        if unsettled:
            seconds = sum(unsettled.values())
            if seconds > 0 and with_minute:
                join(minute, unsettled, min(1.0, MINUTE_SECONDS / seconds))
            join(watch, unsettled)
        return cls(minute, watch, track.unseen_seconds)

    @classmethod
    def sum_of(cls, parts: Sequence[Part]) -> Part:
        """All of them together."""
        if len(parts) == 1:
            return parts[0]
        minute: Split = {}
        watch: Split = {}
        for part in parts:
            join(minute, part.minute)
            join(watch, part.watch)
        return cls(minute, watch, sum(part.unseen for part in parts))


def accounts_of(
    part: Part, subject: Subject, *, since: float | None = None, pid: int | None = None
) -> Iterator[Account]:
    """For the last minute and the whole watch, unless nothing was seen.

    Args:
        part: how the time was spent.
        subject: whose account it is.
        since: Unix time at which the watch of it began.
        pid: of a rank.
    """
    spent = sum(part.watch.values())
    if spent <= _NOTHING:
        return
    seconds = sum(part.minute.values())
    if seconds > _NOTHING:
        entries = entries_of(part.minute)
        yield Account(subject=subject, pid=pid, seconds=seconds, entries=entries)
    yield Account(
        subject=subject,
        pid=pid,
        window="watch",
        seconds=spent,
        entries=entries_of(part.watch),
        since_seconds=since,
        unseen_seconds=part.unseen,
    )


def entries_of(spent: Split) -> dict[str, Entry]:
    """By name, each with the origin of most of it; the largest first."""
    found: dict[str, tuple[float, float, Origin]] = {}
    for (name, origin), seconds in spent.items():
        if seconds > _NOTHING:
            whole, most, known = found.get(name, (0.0, 0.0, origin))
            if seconds > most:
                most, known = seconds, origin
            found[name] = (whole + seconds, most, known)
    return {
        name: Entry(seconds=whole, origin=origin)
        for name, (whole, _, origin) in sorted(found.items(), key=_largest_first)
    }


def _largest_first(pair: tuple[str, tuple[float, float, Origin]]) -> float:
    return -pair[1][0]


def join(to: Split, spent: Split, times: float = 1.0) -> None:
    """Add one to another."""
    for key, seconds in spent.items():
        to[key] = to.get(key, 0.0) + seconds * times
