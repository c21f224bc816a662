"""The events that are kept: a few of each kind and subject, so that a storm of one pushes out no other."""

from __future__ import annotations

from collections import deque

from ...model.kernel_log import KernelLogKind
from .events import Told

_MOST_OF_ONE = 16
_MOST_SUBJECTS = 48
_MOST_SENT = 60
_SAME_SECONDS = 60.0
"""What is said again within that time is counted, and not kept again."""
_SENT_SECONDS = 86400.0
_ANY_AGE: frozenset[KernelLogKind] = frozenset({"server not responding", "server responds"})
"""Whether a server responds is told once, and holds until it is told again."""
_FIRST_TO_KEEP: frozenset[KernelLogKind] = frozenset({"xid", "sxid", "oom kill"})

Key = tuple[KernelLogKind, str | None, str | None]


class Event:
    """One thing that the log told, perhaps several times. Times are on this node's monotonic clock."""

    __slots__ = ("before", "cgroups", "count", "first", "newest", "text", "told")

    def __init__(self, told: Told, seconds: float | None, before: bool, text: str) -> None:
        self.told = told
        self.first = seconds
        self.newest = seconds
        self.before = before
        self.text = text
        self.count = 1
        self.cgroups: tuple[str | None, str | None] = (None, None)


class Kept:
    """The newest events by kind and subject."""

    def __init__(self) -> None:
        self._events: dict[Key, deque[Event]] = {}

    def add(self, event: Event) -> None:
        """Take it up, or count it to one of the same within the last minute."""
        told = event.told
        key = (told.kind, told.pci_bus_id, told.subject)
        events = self._events.setdefault(key, deque(maxlen=_MOST_OF_ONE))
        same = next((each for each in reversed(events) if _same(each, event)), None)
        if same is None:
            events.append(event)
        else:
            same.count += 1
            same.newest = event.newest
        if len(self._events) > _MOST_SUBJECTS:
            del self._events[min(self._events, key=self._newest_of)]

    def sent(self, now: float) -> list[Event]:
        """Those that are worth telling in each sample, the oldest first."""
        events = [
            event
            for each in self._events.values()
            for event in each
            if event.newest is None
            or now - event.newest < _SENT_SECONDS
            or event.told.kind in _ANY_AGE
        ]
        events.sort(key=lambda event: (event.told.kind in _FIRST_TO_KEEP, event.newest or 0.0))
        return sorted(events[-_MOST_SENT:], key=lambda event: event.newest or 0.0)

    def _newest_of(self, key: Key) -> tuple[bool, float]:
        return key[0] in _FIRST_TO_KEEP, self._events[key][-1].newest or 0.0


def _same(one: Event, two: Event) -> bool:
    if one.told != two.told or one.before != two.before:
        return False
    if one.first is None or two.first is None:
        return one.first is two.first
    return abs(two.first - one.first) < _SAME_SECONDS
