"""Records a stream: blocks of ten seconds, a file an hour, on a thread that nobody waits for."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from ..model.sample import Sample
from .block import Entry, encode
from .recording import segments_of
from .segment import SUFFIX, RecordingError, Segment, SegmentWriter
from .tidying import SEGMENT_SECONDS, Tidier, began_seconds

BLOCK_SECONDS = 10.0
_WAITING = 60
"""So many entries may wait for a slow disk: a sample takes half a megabyte until it is written."""
_LOOK_SECONDS = 1.0
_NEAR_SECONDS = 60.0
_LARGEST_PART = 8
"""No file is a larger part of the recording than that: removing one would take too much with it."""
_LEAST_FILE_BYTES = 1 << 20
_CLOSE_SECONDS = 2.0


class Blocks:
    """Gathers entries to blocks: of one node and boot, and of `BLOCK_SECONDS`."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._first: Sample | None = None
        self._began = 0.0

    @property
    def open_seconds(self) -> float:
        """How long ago the first sample of the open block has come; 0: there is none."""
        return 0.0 if self._first is None else time.monotonic() - self._began

    def add(self, entry: Entry) -> list[Entry] | None:
        """Take up an entry; returns those of a block that is full, which are before it."""
        full = None
        if isinstance(entry, Sample):
            first = self._first
            if first is not None and belongs_to_another_block(first, entry):
                full = self.take()
            if self._first is None:
                self._first, self._began = entry, time.monotonic()
        self._entries.append(entry)
        return full

    def take(self) -> list[Entry] | None:
        """What has been gathered; ``None`` without a sample in it."""
        if self._first is None:
            return None
        found, self._entries, self._first = self._entries, [], None
        return found


def blocks_of(entries: Iterable[Entry]) -> Iterator[bytes]:
    """Entries as blocks, one after the other: a recording may be larger than the memory."""
    gathered = Blocks()
    for entry in entries:
        full = gathered.add(entry)
        if full is not None:
            yield encode(full)
    last = gathered.take()
    if last is not None:
        yield encode(last)


def belongs_to_another_block(first: Sample, now: Sample) -> bool:
    """Whether a sample ends the block that begins with ``first``."""
    passed = now.time_seconds - first.time_seconds
    return not 0 <= passed < BLOCK_SECONDS or (first.boot_id, first.node) != (now.boot_id, now.node)


class Recorder:
    """Writes what it is given to ``NAME-TIME-NNN.gtop``, and begins a new file each hour and boot.

    Args:
        name: path that the files' names begin with.
        most_bytes: of all of its files, of earlier runs too; the oldest are removed. ``None``: no limit.
        keep_seconds: files that are older are removed. ``None``: none are.
        redact: what is made of each sample before it is written.

    Raises:
        RecordingError: where no file can be made there, or another node has recorded under that name.
    """

    def __init__(
        self,
        name: Path,
        most_bytes: int | None = None,
        keep_seconds: float | None = None,
        redact: Callable[[Sample], Sample] | None = None,
    ) -> None:
        self._name = name
        self._redact = redact
        self._tidier = Tidier(name, most_bytes, keep_seconds)
        self.most_file_bytes = (
            math.inf if most_bytes is None else max(_LEAST_FILE_BYTES, most_bytes // _LARGEST_PART)
        )
        self._node = _node_of(name)
        self._queue: queue.Queue[Entry | None] = queue.Queue(_WAITING)
        self._blocks = Blocks()
        self._writer: SegmentWriter | None = None
        self._hour = -1
        self._boot = ""
        self.dropped = 0
        """Entries that nobody could write in time."""
        self.error = ""
        """Why nothing is written now, one sentence; empty while all is well."""
        self.bytes = 0
        """Written so far."""
        self._begin(time.time())
        self._thread = threading.Thread(target=self._work, name="record", daemon=True)
        self._thread.start()

    def add(self, entry: Entry) -> None:
        """Take up an entry, at once, whatever the disk does."""
        try:
            self._queue.put_nowait(entry)
        except queue.Full:
            self.dropped += 1

    @property
    def waiting(self) -> bool:
        """Whether anything that came is still to be taken up."""
        return not self._queue.empty()

    def close(self) -> bool:
        """Write what waits; whether that was done within two seconds."""
        try:
            self._queue.put(None, timeout=_CLOSE_SECONDS)
        except queue.Full:
            return False
        self._thread.join(_CLOSE_SECONDS)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while True:
            try:
                entry = self._queue.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                self._look()
                continue
            if entry is None:
                break
            self._add(entry)
        self._write_open()
        self._tidier.close()
        self._end()

    def _add(self, entry: Entry) -> None:
        if isinstance(entry, Sample) and self._redact is not None:
            entry = self._redact(entry)
        full = self._blocks.add(entry)
        if full is not None:
            self._write(full)
        if isinstance(entry, Sample):
            self._tidier.step(entry.time_seconds, self._writer.path if self._writer else None)

    def _look(self) -> None:
        """Nothing comes: what has come must not wait for ever."""
        if self._blocks.open_seconds > BLOCK_SECONDS:
            self._write_open()

    def _write_open(self) -> None:
        last = self._blocks.take()
        if last is not None:
            self._write(last)

    def _write(self, entries: Sequence[Entry]) -> None:
        sample = next(entry for entry in entries if isinstance(entry, Sample))
        try:
            self._turn(sample)
            if self._writer is None:
                return
            block = encode(entries)
            self._writer.append(block)
            self.bytes += len(block)
            self.error = ""
        except RecordingError as error:
            # A full disk may have room again, a folder may come back: it is tried anew with each block.
            self.dropped += len(entries)
            self.error = f"not recorded: {error}"
            if not self._is_there():
                self._end()
        except Exception as error:  # noqa: BLE001 - whatever it is, the monitor goes on
            self.dropped += len(entries)
            self.error = f"not recorded: {type(error).__name__}: {error}"

    def _turn(self, sample: Sample) -> None:
        """Begin a new file with each hour and each boot, and before one is too large.

        Raises:
            RecordingError: where it cannot be made, or the sample is of another node.
        """
        if self._node not in ("", sample.node):
            raise RecordingError(
                f"{self._name} is a recording of {self._node}, not of {sample.node}"
            )
        self._node = sample.node
        hour = int(sample.time_seconds // SEGMENT_SECONDS)
        known = self._hour in (-1, hour) and self._boot in ("", sample.boot_id)
        if self._writer is not None and not self._writer.bytes:
            # It was begun when recording was: its name is to tell when its first sample was taken.
            known = (
                known
                and abs(began_seconds(self._writer.path) - sample.time_seconds) < _NEAR_SECONDS
            )
        known = known and self._is_there() and self._writer_bytes < self.most_file_bytes
        self._hour, self._boot = hour, sample.boot_id
        if self._writer is None or not known:
            self._end()
            self._begin(sample.time_seconds)

    def _begin(self, time_seconds: float) -> None:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time_seconds))
        for number in range(1000):
            path = self._name.with_name(f"{self._name.name}-{stamp}-{number:03d}{SUFFIX}")
            if path.exists():
                continue
            self._writer = SegmentWriter(path)
            break

    def _end(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _is_there(self) -> bool:
        """Whether its file still has its name: a folder may be removed under it."""
        return self._writer is not None and self._writer.path.exists()

    @property
    def _writer_bytes(self) -> int:
        return self._writer.bytes if self._writer else 0


def _node_of(name: Path) -> str:
    """Which node has recorded under that name; '' where none has."""
    for path in reversed(segments_of(name)):
        try:
            return Segment(path).places[-1].head.node
        except RecordingError:
            continue
    return ""
