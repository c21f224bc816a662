"""Of which processes somebody wants to see the stacks."""

from __future__ import annotations

from collections.abc import Iterable

from .requests import Requests


class StackRequests(Requests):
    """From whom stacks are wanted, and of which of them the shares of phases too."""

    def __init__(self) -> None:
        super().__init__()
        self._shares = Requests()

    def want(self, pids: Iterable[int], seconds: float, *, shares: bool = False) -> bool:
        """From now on, for so many seconds; 0: no more. Whether any of them was not wanted before.

        Args:
            pids: of whom.
            seconds: for how long.
            shares: sample them too.
        """
        pids = tuple(pids)
        if shares or seconds <= 0:
            self._shares.want(pids, seconds)
        return super().want(pids, seconds)

    def shares_wanted(self, now: float) -> list[int]:
        """Those of which shares are wanted too."""
        return self._shares.wanted(now)
