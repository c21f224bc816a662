"""The time of one subject as it comes in: a sum over the watch, and the last minute; bounded, and cheap to add to."""

from __future__ import annotations

from collections.abc import Iterable

from ...probes.model.vocabulary import Origin
from ..finding import Account, AccountWindow, Entry, Subject
from .split import Split, add

MINUTE_SECONDS = 60.0
_SLOT_SECONDS = 2.0
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


Part = tuple[Track, Split]
"""A track and the seconds that it will be added next: they run until now."""


def account_of(
    parts: Iterable[Part],
    subject: Subject,
    window: AccountWindow,
    now: float,
    *,
    pid: int | None = None,
    since: float | None = None,
) -> Account | None:
    """What several tracks say together; ``None`` where nothing was seen.

    Args:
        parts: whose times are added.
        subject: whose account it is.
        window: over which time.
        now: monotonic seconds.
        pid: of a rank.
        since: Unix time at which the watch of it began.
    """
    spent: Split = {}
    unseen = 0.0
    for track, unsettled in parts:
        if window == "last minute":
            join(spent, track.since(now - MINUTE_SECONDS))
            seconds = sum(unsettled.values())
            join(spent, unsettled, min(1.0, MINUTE_SECONDS / seconds) if seconds else 0.0)
        else:
            join(spent, track.whole())
            join(spent, unsettled)
        unseen += track.unseen_seconds
    seconds = sum(spent.values())
    if seconds <= _NOTHING:
        return None
    return Account(
        subject=subject,
        pid=pid,
        window=window,
        seconds=seconds,
        entries=entries_of(spent),
        since_seconds=since,
        unseen_seconds=unseen if window == "watch" else None,
    )


def entries_of(spent: Split) -> dict[str, Entry]:
    """By name, each with the origin of most of it; the largest first."""
    by_name: dict[str, dict[Origin, float]] = {}
    for (name, origin), seconds in spent.items():
        if seconds > _NOTHING:
            by_name.setdefault(name, {})[origin] = seconds
    found = {
        name: Entry(seconds=sum(each.values()), origin=max(each, key=lambda o: each[o]))
        for name, each in by_name.items()
    }
    return dict(sorted(found.items(), key=lambda pair: -pair[1].seconds))


def join(to: Split, spent: Split, times: float = 1.0) -> None:
    """Add one to another."""
    for key, seconds in spent.items():
        add(to, key, seconds * times)
