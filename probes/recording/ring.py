"""The last minutes in memory, compressed, to be written when somebody asks or something happens."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from .block import Entry, encode
from .segment import SegmentWriter
from .writer import Blocks

KEPT_SECONDS = 600.0
MOST_BYTES = 8 << 20
"""Of all blocks. Where many processes come and go, what is oldest leaves before its time."""


class Ring:
    """The blocks of the last ten minutes."""

    def __init__(self, seconds: float = KEPT_SECONDS) -> None:
        self._seconds = seconds
        self._blocks = Blocks()
        self._kept: deque[tuple[float, bytes]] = deque()
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """That it takes."""
        return self._bytes

    def add(self, entry: Entry) -> None:
        """Take up an entry."""
        full = self._blocks.add(entry)
        if full is not None:
            self._keep(full)
        while self._kept and self._kept[0][0] < entry.time_seconds - self._seconds:
            self._drop_oldest()

    def write(self, path: Path) -> int:
        """All of it to a new file; returns its bytes.

        Raises:
            RecordingError: where there is such a file, or it cannot be written.
        """
        last = self._blocks.take()
        if last is not None:
            self._keep(last)
        writer = SegmentWriter(path)
        try:
            for _, block in self._kept:
                writer.append(block)
        finally:
            writer.close()
        return writer.bytes

    def _keep(self, entries: list[Entry]) -> None:
        block = encode(entries)
        self._kept.append((entries[-1].time_seconds, block))
        self._bytes += len(block)
        while self._bytes > MOST_BYTES and len(self._kept) > 1:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        self._bytes -= len(self._kept.popleft()[1])
