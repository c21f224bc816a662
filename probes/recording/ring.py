"""The last ten minutes in memory, as compressed blocks: to be written once there is a reason to."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import NamedTuple

from ..model.sample import Sample
from .block import BlockBuilder
from .errors import RecordingError
from .marks import Changes, Mark

RING_SECONDS = 600.0
MAX_BYTES = 7 << 19
"""Of the compressed blocks: with all the rest 8 MiB. A node with thousands of processes has less than ten minutes."""
BLOCK_SECONDS = 10.0


class _Block(NamedTuple):
    data: bytes
    boot_id: str
    last_monotonic: float


class Ring:
    """Keeps the newest samples.

    Args:
        seconds: so much of the past.
        max_bytes: of compressed blocks.
        simulated: nothing in the samples is real.
    """

    def __init__(
        self,
        seconds: float = RING_SECONDS,
        max_bytes: int = MAX_BYTES,
        *,
        simulated: bool = False,
    ) -> None:
        self._seconds = seconds
        self._max_bytes = max_bytes
        self._builder = BlockBuilder(Changes(), simulated=simulated)
        self._blocks: deque[_Block] = deque()
        self.size_bytes = 0
        self._last: tuple[str, float] | None = None
        """Boot and moment of the newest sample."""

    def take(self, sample: Sample, marks: tuple[Mark, ...] = ()) -> None:
        """Take one more; those that were taken before are passed over.

        Raises:
            OverflowError, UnicodeEncodeError, TypeError: when something in it has no form in a recording.
        """
        last = self._last
        if last is not None:
            boot, monotonic = last
            if boot != sample.boot_id:
                self._finish()
            elif sample.monotonic_seconds <= monotonic:
                return
        self._builder.add(sample, marks)
        self._last = (sample.boot_id, sample.monotonic_seconds)
        first = self._builder.begins
        seconds = sample.monotonic_seconds - first.monotonic_seconds if first else 0.0
        if self._builder.full or seconds + 1.1 * sample.interval_seconds >= BLOCK_SECONDS:
            self._finish()

    def _finish(self) -> None:
        """Close the open block, and let the oldest go."""
        last = self._last
        if last is None or not len(self._builder):
            return
        block = self._builder.finish()
        self._blocks.append(_Block(block, *last))
        self.size_bytes += len(block)
        while len(self._blocks) > 1 and self._is_spare(self._blocks[0], last):
            self.size_bytes -= len(self._blocks.popleft().data)

    def _is_spare(self, block: _Block, last: tuple[str, float]) -> bool:
        boot, monotonic = last
        old = boot == block.boot_id and monotonic - block.last_monotonic > self._seconds
        return old or self.size_bytes > self._max_bytes

    def save(self, path: Path, *, force: bool = False) -> int:
        """Write it all to a new file, and say how many bytes that were.

        Raises:
            RecordingError: when there is nothing yet, or it cannot be written.
        """
        from .whole_file import write_file  # most are never saved

        self._finish()
        if not self._blocks:
            raise RecordingError("there is nothing to save yet")
        return write_file(path, (block.data for block in self._blocks), force=force)
