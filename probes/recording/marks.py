"""What was judged while a sample was recorded, beside it: the rules may be others by the time it is read.

Nothing here knows a finding: it travels as the bytes that the front end gave, and back to it.
"""

import msgspec

ACTIVE, CLEARED = "active", "cleared"


class Mark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One finding as it was judged, with what a reader must know of it without the rules."""

    id: str
    name: str
    severity: str
    state: str
    subject_kind: str
    subject_id: str
    since_seconds: float
    """Unix time at which its condition began."""
    finding: msgspec.Raw = msgspec.Raw()
    """All of it, as MessagePack."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it the same finding from sample to sample."""
        return (self.id, self.subject_kind, self.subject_id)


class Event(msgspec.Struct, frozen=True, array_like=True):
    """A finding became active, or was found gone: what one jumps to, and what is kept at full rate."""

    time_seconds: float
    state: str
    """``active`` or ``cleared``."""
    severity: str
    id: str
    name: str
    subject_kind: str
    subject_id: str
    since_seconds: float
    """Unix time at which its condition began."""


class Changes:
    """Makes events of the marks that follow each other."""

    def __init__(self) -> None:
        self._active: dict[tuple[str, str, str], Mark] = {}

    def take(self, time_seconds: float, marks: tuple[Mark, ...]) -> list[Event]:
        """What is new of them; one that is not there any more has cleared."""
        now = {mark.key: mark for mark in marks if mark.state == ACTIVE}
        gone = [mark for key, mark in self._active.items() if key not in now]
        new = [mark for key, mark in now.items() if key not in self._active]
        self._active = now
        return [
            *(_event(time_seconds, mark, CLEARED) for mark in gone),
            *(_event(time_seconds, mark, ACTIVE) for mark in new),
        ]


def _event(time_seconds: float, mark: Mark, state: str) -> Event:
    return Event(
        time_seconds,
        state,
        mark.severity,
        mark.id,
        mark.name,
        mark.subject_kind,
        mark.subject_id,
        mark.since_seconds,
    )
