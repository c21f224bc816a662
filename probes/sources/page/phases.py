"""The phases of one thread, out of a state page's ring of words. Only what is new is read."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Sequence

from ...inprocess import layout
from ...model.probe_readings import SegmentReading
from .state import LEEWAY, NANOSECONDS, Read, read_ring, since
from .steps import StepHistory

SEGMENTS = 64
"""So many phases are reported each time; the first time, all that the page has."""
_NONE = layout.CODES["none"]


class PhaseHistory:
    """The phases of one thread, out of its ring of words."""

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self._at = layout.RINGS_AT + slot * layout.RING_WORDS * 8
        self._head = 0
        self._newest: tuple[int, int] | None = None
        self._newest_open: tuple[int, int] | None = None
        self._settled: deque[SegmentReading] = deque(maxlen=layout.RING_WORDS)
        """Those whose step has ended: nothing about them changes any more."""
        self._open: deque[tuple[int, int]] = deque(maxlen=layout.RING_WORDS)
        """Moment and code of those after them."""
        self._whole = 2
        """So many times all of it is yet to be reported: twice, as with the steps."""

    def last(self, read: Read, head: int, now: int) -> tuple[int, int] | None:
        """Start and code of the newest phase in the ring."""
        self._take(read, head, now)
        return self._newest

    def last_open(self, read: Read, head: int, now: int) -> tuple[int, int] | None:
        """The same of the newest that is a phase, and not the absence of one."""
        self._take(read, head, now)
        return self._newest_open

    def read(
        self,
        read: Read,
        head: int,
        now: int,
        current: tuple[int, int],
        phases: Sequence[str | None],
        steps: StepHistory,
        number: int,
    ) -> tuple[SegmentReading, ...]:
        """The newest phases, oldest first, up to the current one.

        Args:
            read: the page.
            head: how many words were ever put into the ring.
            now: nanoseconds.
            current: start and code of the phase in progress.
            phases: name by code.
            steps: to tell the step that each was in.
            number: of the step in progress, where these do not tell.
        """
        self._take(read, head, now)
        most = layout.RING_WORDS if self._whole else SEGMENTS
        self._whole = max(0, self._whole - 1)
        while self._open and self._open[0][0] < steps.newest_end:
            self._settled.extend(_segments([self._open.popleft()], phases, steps, number))
        reported = list(self._open)[-most:]
        if self._newest is None or current[0] > self._newest[0]:
            reported.append(current)
        newest = _segments(reported, phases, steps, number)
        older = most - len(newest)
        return (*list(self._settled)[-older:], *newest) if older > 0 else tuple(newest)

    def _forget(self) -> None:
        self._head = 0
        self._newest = self._newest_open = None
        self._settled.clear()
        self._open.clear()

    def _take(self, read: Read, head: int, now: int) -> None:
        if head < self._head:
            self._forget()
        # What would not be reported is not read: of very short phases there are many.
        first = max(self._head, head - (layout.RING_WORDS if self._whole else SEGMENTS))
        if first == head:
            return
        data = read_ring(read, self._at, 8, layout.RING_WORDS, first, head)
        last = self._newest[0] if self._newest else 0
        later = now + LEEWAY
        found: list[tuple[int, int]] = []
        # From the newest back: where it has gone round meanwhile, what follows is younger.
        for (value,) in reversed(list(struct.iter_unpack("<Q", data[: len(data) // 8 * 8]))):
            word = since(value, now)
            if word is None or not last <= word[0] <= later:
                break
            later = word[0]
            found.append(word)
        self._head = head
        if found:
            self._newest = found[0]
            self._newest_open = next(
                (each for each in found if each[1] != _NONE), self._newest_open
            )
            self._open.extend(reversed(found))


def _segments(
    words: Sequence[tuple[int, int]],
    phases: Sequence[str | None],
    steps: StepHistory,
    number: int,
) -> list[SegmentReading]:
    segments: list[SegmentReading] = []
    for moment, code in words:
        name = phases[code]
        if name is not None:
            step = steps.number_at(moment)
            segments.append(
                SegmentReading(name, moment / NANOSECONDS, number if step is None else step)
            )
    return segments
