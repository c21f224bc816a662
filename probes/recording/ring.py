"""The last minutes in memory, compressed, to be written when somebody asks or something happens."""

from __future__ import annotations

import math
from collections import deque

from ..model.sample import Sample
from .block import Entry, OpenBlock
from .writer import belongs_to_another_block

KEPT_SECONDS = 600.0
MOST_BYTES = 7 << 19
"""With all that it takes besides it stays below 8 MiB; a node with thousands of processes has less than ten
minutes then."""


class Ring:
    """The blocks of the last ten minutes."""

    def __init__(self, seconds: float = KEPT_SECONDS, most_bytes: int = MOST_BYTES) -> None:
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._open = OpenBlock()
        self._kept: deque[tuple[float, bytes]] = deque()
        self.bytes = 0
        """Of the blocks in it."""

    def add(self, entry: Entry) -> None:
        """Take up an entry."""
        first = self._open.first
        if isinstance(entry, Sample) and first and belongs_to_another_block(first, entry):
            self._finish()
        self._open.add(entry)
        while self._kept and (
            self._kept[0][0] < entry.time_seconds - self._seconds or self.bytes > self._most_bytes
        ):
            self.bytes -= len(self._kept.popleft()[1])

    def blocks(self) -> list[bytes]:
        """All of it, as it is now."""
        return self.blocks_since(-math.inf)

    def blocks_since(self, time_seconds: float) -> list[bytes]:
        """Those that reach into the time after that."""
        kept = [block for last_seconds, block in self._kept if last_seconds >= time_seconds]
        # What is gathered is gathered on: a block that is cut short is larger.
        return kept if self._open.first is None else [*kept, self._open.finish()]

    def _finish(self) -> None:
        """Close the open block, if a sample is in it."""
        if self._open.first is None:
            return
        block = self._open.finish()
        self._kept.append((self._open.last_seconds, block))
        self.bytes += len(block)
        self._open = OpenBlock()
