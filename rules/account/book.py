"""All accounts of the newest frame. They are added to in each, and worked out anew now and then only."""

from __future__ import annotations

from collections.abc import Sequence

from ...probes.model.frame import Frame
from ..finding import Account, AccountWindow, Finding
from ..history import History
from .late import late_rank
from .minute import minutes
from .watch import WatchAccounts

_KEPT_SECONDS = 2.0
_YOUNG_SECONDS = 10.0
"""Until then a mean over what was seen so far still moves."""
_SUMS_KEPT_SECONDS = 6.0
_STEADY_SECONDS = 60.0
"""From then on sums are so much longer that some seconds hardly change them."""


class AccountBook:
    """Feed it every frame in order."""

    def __init__(self) -> None:
        self._watch = WatchAccounts()
        self._minutes_of: tuple[object, ...] = ()
        self._sums_of: tuple[object, ...] = ()
        self._minutes: tuple[Account, ...] = ()
        self._sums: tuple[Account, ...] = ()
        self._accounts: tuple[Account, ...] = ()
        self.minutes: dict[tuple[str, str], Account] = {}
        """Of the last minute, by whose they are, as they were worked out last."""
        self.watches: dict[tuple[str, str], Account] = {}
        """Of the whole watch."""

    def accounts(
        self, frame: Frame, history: History, active: Sequence[Finding]
    ) -> tuple[Account, ...]:
        """Take up a frame; the accounts of a moment ago where they are of the same ranks in the same trouble."""
        self._watch.add(frame, active, history.stuck)
        seen = history.seconds()
        there = (
            [rank.pid for job in frame.jobs for rank in job.living],
            [late and late.rank.pid for late in (late_rank(job, active) for job in frame.jobs)],
        )
        kept = _SUMS_KEPT_SECONDS if seen >= _STEADY_SECONDS else _KEPT_SECONDS
        minutes_of = (int(frame.monotonic_seconds // _KEPT_SECONDS), there)
        sums_of = (int(frame.monotonic_seconds // kept), there)
        young = seen < _YOUNG_SECONDS
        if young or minutes_of != self._minutes_of or sums_of != self._sums_of:
            if young or minutes_of != self._minutes_of:
                self._minutes_of = minutes_of
                self._minutes = minutes(frame, history, active)
            if young or sums_of != self._sums_of:
                self._sums_of = sums_of
                self._sums = tuple(self._watch.accounts(frame))
            self._accounts = (*self._minutes, *self._sums)
            self.minutes = _by_subject(self._accounts, "last minute")
            self.watches = _by_subject(self._accounts, "watch")
        return self._accounts


def _by_subject(
    accounts: Sequence[Account], window: AccountWindow
) -> dict[tuple[str, str], Account]:
    return {each.subject.key: each for each in accounts if each.window == window}
