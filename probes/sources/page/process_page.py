"""A process that has a state page, or may come to have one."""

from __future__ import annotations

import time

from ...model.probe_readings import ProbeReading
from ..procfs.files import Descriptors, Gone, KeptFiles
from ..procfs.text import TICKS_PER_SECOND, parse_stat, parse_status
from .location import Owner, PageRefused
from .reader import PageReader, find_page
from .state import NANOSECONDS

_STAT_BYTES = 1024
_CHECK_SECONDS = 5.0
"""Between two looks whether it is still its page, or whether there is one by now."""
_SELDOM_SECONDS = 30.0
"""The same for an old process without one: the longer it has had none, the less likely it gets one."""


class WatchedProcess:
    """One process, by pid and start time.

    Args:
        pid: of it.
        root: of the file system with ``proc`` in it, without the slash at its end.
        descriptors: shared with others.

    Raises:
        Gone: there is no such process.
    """

    def __init__(self, pid: int, root: str, descriptors: Descriptors) -> None:
        self._root = root
        self._files = KeptFiles(f"{root}/proc/{pid}", descriptors)
        self._asleep = False
        self._start_ticks: int | None = None
        self._reader: PageReader | None = None
        self._refusal: str | None = None
        self._due = 0.0
        self._searched = False
        self._pid = pid
        self.look()
        self.owner = self._owner()

    def look(self) -> None:
        """See whether it lives.

        Raises:
            Gone: it does not, or its pid belongs to another one.
        """
        try:
            stat = parse_stat(self._files.read("stat", _STAT_BYTES))
        except OSError as error:
            raise Gone from error
        # A zombie has ended, whoever may still have to take note of it.
        if stat is None or stat.state in "ZX":
            raise Gone
        if self._start_ticks is not None and stat.start_ticks != self._start_ticks:
            raise Gone
        self._start_ticks = stat.start_ticks
        self._asleep = stat.state == "D"

    def read(self, now: int) -> ProbeReading | None:
        """What its page tells; ``None``: it has none.

        Args:
            now: nanoseconds of the monotonic clock.
        """
        if time.monotonic() >= self._due:
            self._search()
        if self._reader is not None:
            try:
                return self._reader.read(now)
            except PageRefused as refusal:
                self._drop(str(refusal))
        return None if self._refusal is None else self._refused(self._refusal, now)

    @property
    def has_page(self) -> bool:
        """And it is read."""
        return self._reader is not None

    @property
    def idle(self) -> bool:
        """It had no page a moment ago, and is not to be looked at again yet."""
        return self._reader is None and self._refusal is None and time.monotonic() < self._due

    def hurry(self) -> None:
        """Its page has been seen: look for it now."""
        if self._reader is None:
            self._due = 0.0
            self._searched = False

    def leave(self, now: int) -> ProbeReading | None:
        """What it leaves, now that it is gone; ``None``: nothing, or it has ended well."""
        if self._reader is None:
            return None
        try:
            return None if self._reader.ended_well() else self._reader.read(now, ended=now)
        except PageRefused:
            return None

    def close(self) -> None:
        """Give all descriptors back."""
        self._files.close()
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _owner(self) -> Owner:
        try:
            status = parse_status(self._files.read_once("status"))
        except OSError as error:
            raise Gone from error
        ticks = self._start_ticks
        owner = None if ticks is None else Owner.made(self._pid, ticks, status)
        if owner is None:
            raise Gone
        return owner

    def _search(self) -> None:
        """Find its page, or see whether the one that is known is still the right one."""
        moment = time.monotonic()
        self._due = moment + _CHECK_SECONDS
        if self._reader is not None and not self._reader.unlinked and self._reader.held():
            return
        try:
            found = find_page(self._root, self.owner, asleep=self._asleep, again=self._searched)
            self._searched = found is None
        except PageRefused as refusal:
            self._drop(str(refusal))
            return
        self._refusal = None
        if found is not None and not found.held():
            # Left by a program that ran in this process before, and was replaced by ``exec``.
            found.close()
            found = None
        if self._reader is not None and found is not None and self._reader.same_file(found):
            found.close()  # what is read already: only its name is gone
            return
        if self._reader is not None and (found is not None or not self._reader.held()):
            self._reader.close()
            self._reader = None
        self._reader = found or self._reader
        age = moment - self.owner.start_ticks / TICKS_PER_SECOND
        if self._reader is None:
            wait = min(max(_CHECK_SECONDS, age), _SELDOM_SECONDS)
            # Spread over time by pid, so that not all come due in the same tick.
            self._due = moment + wait * (1.0 + self.owner.pid % 16 / 16)

    def _drop(self, why: str) -> None:
        self._refusal = why
        self._searched = False
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _refused(self, why: str, now: int) -> ProbeReading:
        return ProbeReading(
            monotonic_seconds=now / NANOSECONDS,
            missing={"phase": why},
            pid=self.owner.pid,
            start_time_seconds=self.owner.start_ticks / TICKS_PER_SECOND,
        )
