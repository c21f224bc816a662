"""Records a stream: blocks of ten seconds, a file an hour, on a thread that nobody waits for."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from ..model.sample import Sample
from .block import Entry, encode
from .segment import SUFFIX, RecordingError, SegmentWriter

BLOCK_SECONDS = 10.0
SEGMENT_SECONDS = 3600.0
_WAITING = 600
"""So many entries may wait for a slow disk: ten minutes at one a second."""
_CLOSE_SECONDS = 2.0


class Blocks:
    """Gathers entries to blocks: of one node and boot, and of `BLOCK_SECONDS`."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._first: Sample | None = None

    def add(self, entry: Entry) -> list[Entry] | None:
        """Take up an entry; returns those of a block that is full, which are before it."""
        full = None
        if isinstance(entry, Sample):
            first = self._first
            if first is not None and _parts(first, entry):
                full = self.take()
            if self._first is None:
                self._first = entry
        self._entries.append(entry)
        return full

    def take(self) -> list[Entry] | None:
        """What has been gathered; ``None`` without a sample in it."""
        if self._first is None:
            return None
        found, self._entries, self._first = self._entries, [], None
        return found


def _parts(first: Sample, now: Sample) -> bool:
    passed = now.time_seconds - first.time_seconds
    return not 0 <= passed < BLOCK_SECONDS or (first.boot_id, first.node) != (now.boot_id, now.node)


class Recorder:
    """Writes what it is given to ``NAME-TIME-NNN.gtop``, and begins a new file each hour and boot.

    Args:
        name: path that the files' names begin with.
        most_bytes: of all of its files; the oldest are removed. ``None``: no limit.

    Raises:
        RecordingError: where no file can be made there.
    """

    def __init__(self, name: Path, most_bytes: int | None = None) -> None:
        self._name = name
        self._most_bytes = most_bytes
        self._queue: queue.Queue[Entry | None] = queue.Queue(_WAITING)
        self._blocks = Blocks()
        self._writer: SegmentWriter | None = None
        self._files: list[Path] = []
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

    def close(self) -> bool:
        """Write what waits; whether that was done within two seconds."""
        try:
            self._queue.put(None, timeout=_CLOSE_SECONDS)
        except queue.Full:
            return False
        self._thread.join(_CLOSE_SECONDS)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (entry := self._queue.get()) is not None:
            full = self._blocks.add(entry)
            if full is not None:
                self._write(full)
        last = self._blocks.take()
        if last is not None:
            self._write(last)
        if self._writer is not None:
            self._writer.close()

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
        """Begin a new file with each hour and each boot."""
        hour = int(sample.time_seconds // SEGMENT_SECONDS)
        known = self._hour in (-1, hour) and self._boot in ("", sample.boot_id)
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
            self._files.append(path)
            break
        self._remove_old()

    def _end(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _is_there(self) -> bool:
        """Whether its file still has its name: a folder may be removed under it."""
        return self._writer is not None and self._writer.path.exists()

    def _remove_old(self) -> None:
        """Its own files alone, so that those of an earlier run stay."""
        if self._most_bytes is None:
            return
        sizes = {path: path.stat().st_size for path in self._files if path.exists()}
        for path in list(self._files[:-1]):
            if sum(sizes.values()) <= self._most_bytes:
                return
            path.unlink(missing_ok=True)
            sizes.pop(path, None)
            self._files.remove(path)
