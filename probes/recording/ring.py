"""The last minutes in memory, compressed, to be written when somebody asks or something happens."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from .block import Entry, encode
from .segment import SegmentWriter
from .writer import Blocks

KEPT_SECONDS = 600.0


class Ring:
    """The blocks of the last ten minutes."""

    def __init__(self, seconds: float = KEPT_SECONDS) -> None:
        self._seconds = seconds
        self._blocks = Blocks()
        self._kept: deque[tuple[float, bytes]] = deque()

    @property
    def bytes(self) -> int:
        """That it takes."""
        return sum(len(block) for _, block in self._kept)

    def add(self, entry: Entry) -> None:
        """Take up an entry."""
        full = self._blocks.add(entry)
        if full is not None:
            self._keep(full)
        while self._kept and self._kept[0][0] < entry.time_seconds - self._seconds:
            self._kept.popleft()

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
        self._kept.append((entries[-1].time_seconds, encode(entries)))
