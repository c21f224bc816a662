"""All accounts of the newest frame. They are added to in each, and worked out anew every other second only."""

from __future__ import annotations

from collections.abc import Sequence

from ...probes.model.frame import Frame
from ..finding import Account, Finding
from ..history import History
from .late import late_rank
from .minute import minutes
from .watch import WatchAccounts

_KEPT_SECONDS = 2.0
_YOUNG_SECONDS = 10.0
"""Until then a mean over what was seen so far still moves."""


class AccountBook:
    """Feed it every frame in order."""

    def __init__(self) -> None:
        self._watch = WatchAccounts()
        self._of: tuple[object, ...] = ()
        self._accounts: tuple[Account, ...] = ()

        self.minutes: dict[tuple[str, str], Account] = {}
        """Of the last minute, by whose they are, as they were worked out last."""

    def accounts(
        self, frame: Frame, history: History, active: Sequence[Finding]
    ) -> tuple[Account, ...]:
        """Take up a frame; the accounts of a moment ago where they are of the same ranks in the same trouble."""
        self._watch.add(frame, active, history.stuck)
        of = (
            int(frame.monotonic_seconds // _KEPT_SECONDS),
            [rank.pid for job in frame.jobs for rank in job.living],
            [late and late.rank.pid for late in (late_rank(job, active) for job in frame.jobs)],
        )
        if of != self._of or history.seconds() < _YOUNG_SECONDS:
            self._of = of
            self._accounts = (*minutes(frame, history, active), *self._watch.accounts(frame))
            self.minutes = {
                each.subject.key: each for each in self._accounts if each.window == "last minute"
            }
        return self._accounts
