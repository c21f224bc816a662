"""The writer's side of the process groups in the page."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING

from . import layout

if TYPE_CHECKING:
    from .page import Page

_LAUNCHED, _RETURNED, _WORD, _BYTES, _SEQUENCE, _PENDING = (
    offset // 8
    for offset in (
        layout.GROUP_LAUNCHED,
        layout.GROUP_RETURNED,
        layout.GROUP_WORD,
        layout.GROUP_BYTES,
        layout.GROUP_SEQUENCE,
        layout.GROUP_PENDING,
    )
)


class Groups:
    """Counters of collectives, a row for each group. Groups beyond the page's room go nowhere."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def launch(self, group: int, operation: int, size: int) -> None:
        """The host enters a collective of ``size`` bytes."""
        if group < layout.GROUPS:
            words, at = self._page.words, _row(group)
            words[at + _BYTES] = size
            words[at + _WORD] = layout.word(perf_counter_ns(), operation)
            words[at + _LAUNCHED] += 1

    def come_back(self, group: int) -> None:
        """It has come back from it."""
        if group < layout.GROUPS:
            self._page.words[_row(group) + _RETURNED] += 1

    def go_on(self, group: int) -> None:
        """It has come back from the call, and not from the collective: it will wait for that later."""
        if group < layout.GROUPS:
            self._page.words[_row(group) + _PENDING] += 1

    def wait(self, group: int) -> None:
        """It waits for one of those."""
        if group < layout.GROUPS:
            words, at = self._page.words, _row(group) + _PENDING
            words[at] = max(0, words[at] - 1)

    def store_sequence(self, group: int, number: int) -> None:
        """The group's own count, which has those in it that no Python function launched."""
        if group < layout.GROUPS and number >= 0:
            self._page.words[_row(group) + _SEQUENCE] = number


def _row(group: int) -> int:
    return (layout.GROUPS_AT + group * layout.GROUP_SIZE) // 8
