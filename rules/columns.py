"""The values of all subjects over time, in memory that is bounded however many subjects come and go.

A column begins at the first moment at which its subject was seen and ends at the last. What is gone is kept
for a while, for a process may only not have been read, and then given back; sooner where many are gone.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator

from .series import Blocks

MOST_VALUES = 1 << 20
"""Of 8 bytes each. Beyond, what is oldest is forgotten before its time: of what comes and goes first."""
GONE_SECONDS = 120.0
MOST_GONE = 64
_STAYING = ("gpu ", "host")
"""What is built into the machine: its past is worth something while it does not answer."""
_NAN = math.nan


class Column:
    """One signal of one subject."""

    __slots__ = ("blocks", "start", "values")

    def __init__(self, start: int) -> None:
        self.start = start
        """Number of the moment of its first value, counting those that are forgotten."""
        self.values = array("d")
        self.blocks: Blocks = {}
        """Means of whole blocks that pictures have asked for."""

    def put(self, moment: int, value: float | None) -> None:
        """Its value at the newest moment. At those since the last one it was missing."""
        values, place = self.values, moment - self.start
        if place > len(values):
            values.extend([_NAN] * (place - len(values)))
        if place == len(values):
            values.append(_NAN if value is None else value)
        else:  # whoever is listed twice in one frame has one value all the same
            values[place] = _NAN if value is None else value

    def put_missing_until(self, moment: int) -> None:
        """At the moments before this one that it has no value of, it was missing."""
        behind = moment - self.start - len(self.values)
        if behind > 0:
            self.values.extend([_NAN] * behind)

    def at(self, moment: int) -> float | None:
        """Its value then; ``None`` where there is none, NaN where it was missing."""
        place = moment - self.start
        return self.values[place] if 0 <= place < len(self.values) else None

    def until(self, moment: int) -> Column:
        """A copy of what it was before a moment."""
        past = Column(self.start)
        past.values = self.values[: moment - self.start]
        return past

    def fill(self, first: int, last: int, value: float) -> None:
        """Its value at all moments from one to another, whatever it was."""
        self.put_missing_until(last + 1)
        place = max(0, first - self.start)
        self.values[place:] = array("d", [value]) * (len(self.values) - place)
        self.blocks.clear()

    def forget(self, before: int) -> None:
        """Give back what was before that moment."""
        surplus = min(before - self.start, len(self.values))
        if surplus > 0:
            self.values = self.values[surplus:]  # a new one, for the old would keep its room
        self.start = max(self.start, before)
        self.blocks.clear()


class _Subject:
    __slots__ = ("columns", "rows", "seen", "signature")

    def __init__(self, signature: object) -> None:
        self.columns: dict[str, Column] = {}
        self.rows: dict[tuple[str, ...], list[Column]] = {}
        """The columns of signals that always come together, in their order."""
        self.seen = 0.0
        """Monotonic seconds at which it came last."""
        self.signature = signature

    def row(self, signals: tuple[str, ...], moment: int) -> list[Column]:
        """The columns of these, which begin at this moment where there were none."""
        row = [self.columns.setdefault(signal, Column(moment)) for signal in signals]
        self.rows[signals] = row
        return row


class Columns:
    """All of them. One thread writes; others may read meanwhile."""

    def __init__(self) -> None:
        self._subjects: dict[str, _Subject] = {}

    def __len__(self) -> int:
        """How many values are kept."""
        return sum(len(column.values) for column in self._all())

    @property
    def subjects(self) -> int:
        """How many subjects are kept."""
        return len(self._subjects)

    def put(
        self,
        subject: str,
        signals: tuple[str, ...],
        values: tuple[float | None, ...],
        moment: int,
        now: float,
        signature: object = None,
    ) -> None:
        """Values of some signals at the newest moment.

        Args:
            subject: whose.
            signals: their names.
            values: in the same order.
            moment: its number, counting those that are forgotten.
            now: monotonic seconds.
            signature: tells one subject from a later one of the same name, as a pid comes back;
                ``None``: not known here.
        """
        there = self._subjects.get(subject)
        if there is None or (signature is not None and there.signature not in (None, signature)):
            there = self._subjects[subject] = _Subject(signature)
        elif there.signature is None:
            there.signature = signature
        there.seen = now
        row = there.rows.get(signals) or there.row(signals, moment)
        for column, value in zip(row, values, strict=True):
            column.put(moment, value)

    def of(self, subject: str) -> dict[str, Column]:
        """By signal."""
        there = self._subjects.get(subject)
        return {} if there is None else there.columns

    def until(self, moment: int) -> Columns:
        """A copy of what was there before a moment, that whoever writes here does not change."""
        past = Columns()
        for name, each in self._subjects.items():
            columns = {
                signal: column.until(moment)
                for signal, column in each.columns.items()
                if column.start < moment
            }
            if columns:
                there = past._subjects[name] = _Subject(each.signature)
                there.columns = columns
        return past

    def clear(self) -> None:
        """Forget everything."""
        self._subjects.clear()

    def give_back(self, now: float) -> None:
        """Forget those that have gone for long, and the longest gone where there are many."""
        gone = sorted(
            (each.seen, name)
            for name, each in self._subjects.items()
            if each.seen < now and not name.startswith(_STAYING)
        )
        surplus = len(gone) - MOST_GONE
        for number, (seen, name) in enumerate(gone):
            if number < surplus or now - seen > GONE_SECONDS:
                del self._subjects[name]

    def forget(self, before: int, newest: int) -> None:
        """Give back what was before a moment, and more of what comes and goes where all is too much."""
        for name, each in list(self._subjects.items()):
            for signal, column in list(each.columns.items()):
                column.forget(before)
                if all(map(math.isnan, column.values)):
                    del each.columns[signal]
                    each.rows.clear()
            if not each.columns:
                del self._subjects[name]
        for staying in (False, True):
            for halved in (1, 2, 3):
                if len(self) <= MOST_VALUES:
                    return
                self._shorten(newest - ((newest - before) >> halved), staying=staying)

    def _shorten(self, before: int, *, staying: bool) -> None:
        for name, each in self._subjects.items():
            if name.startswith(_STAYING) == staying:
                for column in each.columns.values():
                    column.forget(before)

    def _all(self) -> Iterator[Column]:
        return (column for each in self._subjects.values() for column in each.columns.values())
