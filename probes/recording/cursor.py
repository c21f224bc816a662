"""A place in a recording, from which one goes on, back, or to another time."""

from __future__ import annotations

from bisect import bisect_right

from .block import Kept
from .errors import DamagedBlock
from .recording import Recording


class Cursor:
    """Stands at one sample of a recording, or before the first one of it.

    Damaged blocks are passed over, in either direction.

    Args:
        recording: which must stay open.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._block = 0
        self._number = -1

    @property
    def place(self) -> tuple[int, int]:
        """Where it stands; it can be set to what it was."""
        return (self._block, self._number)

    @place.setter
    def place(self, place: tuple[int, int]) -> None:
        self._block, self._number = place

    def seek(self, time_seconds: float) -> Kept | None:
        """Go to the last sample that is not later than that; to the first, where all are.

        Where the node's clock was set back, to the last sample of that time.
        """
        blocks = self._recording.blocks
        candidates = (
            number
            for number in range(len(blocks) - 1, -1, -1)
            if blocks[number].first_seconds <= time_seconds
        )
        self._block = next(candidates, 0)
        times = self._recording.numbers_of(blocks[self._block])
        self._number = bisect_right(times, time_seconds) - 1
        if self._number < 0:
            # All of it is later, or it is damaged.
            before = self.back()
            if before is None:
                self._block, self._number = 0, -1
                return self.on()
            return before
        return self._here() or self.back()

    def on(self) -> Kept | None:
        """Go to the next sample; ``None``, and stay, where this is the last."""
        return self._go(1)

    def back(self) -> Kept | None:
        """Go to the sample before; ``None``, and stay, where this is the first."""
        return self._go(-1)

    def here(self) -> Kept | None:
        """The sample at which it stands."""
        return self._here() if self._number >= 0 else None

    def _go(self, step: int) -> Kept | None:
        was = (self._block, self._number)
        blocks = self._recording.blocks
        self._number += step
        while 0 <= self._block < len(blocks):
            times = self._recording.numbers_of(blocks[self._block])
            while 0 <= self._number < len(times):
                kept = self._here()
                if kept is not None:
                    return kept
                self._number += step
            self._block += step
            if step > 0:
                self._number = 0
            elif self._block >= 0:
                self._number = len(self._recording.numbers_of(blocks[self._block])) - 1
        self._block, self._number = was
        return None

    def _here(self) -> Kept | None:
        try:
            return self._recording.block(self._recording.blocks[self._block]).kept(self._number)
        except DamagedBlock:
            return None
