"""Writes a recording: samples to blocks, blocks to segments, old segments thinned and removed.

It goes on whatever fails, and says what does: on a disk that is full, what comes is lost until there is
room again, and all that was written before stays whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from pathlib import Path

from ..model.sample import Sample
from .block import BlockBuilder
from .errors import RecordingError, reason
from .marks import Changes, Mark
from .names import segments_of
from .recording import Recording
from .retention import Limits, remove_oldest
from .segment_file import SegmentFile
from .segment_hours import SEGMENT_SECONDS, THIN_AFTER_SECONDS, same_hour
from .thinning import events_in, is_thinned, thinned, windows_of

BLOCK_SECONDS = 10.0
_TIDY_SECONDS = 60.0
_JITTER = 0.1
"""Of the interval: samples are not quite on time."""


class Writer:
    """Writes what it is given, on the thread that gives it.

    Args:
        recording: the name that its segments begin with, with their folder.
        limits: what it may take.
        simulated: nothing in the samples is real.
        redact: what is made of each sample before anything of it is written.
        thin_after_seconds: a segment whose end is older than that is thinned.

    Raises:
        RecordingError: when there is no place for it.
    """

    def __init__(
        self,
        recording: Path,
        limits: Limits | None = None,
        *,
        simulated: bool = False,
        redact: Callable[[Sample], Sample] | None = None,
        thin_after_seconds: float = THIN_AFTER_SECONDS,
    ) -> None:
        self.recording = recording
        self._limits = limits or Limits()
        self._redact = redact
        self._thin_after = thin_after_seconds
        self._builder = BlockBuilder(Changes(), simulated=simulated)
        self._began = 0.0
        """When the open block was begun, on this process's monotonic clock."""
        self._segment: SegmentFile | None = None
        self._last: tuple[str, float] | None = None
        self._tidied: float | None = None
        self._thinning: Generator[None, None, None] | None = None
        self._left_alone: set[Path] = set()
        """Segments that need no thinning, or cannot be thinned."""
        self.samples = 0
        """Written so far."""
        self.lost_samples = 0
        """That could not be written."""
        self.size_bytes = 0
        """Of all segments, as of the last look, and what was written since."""
        self.error = ""
        """What is wrong now, one sentence, or empty."""
        self._node = _node_of(recording)

    def take(self, sample: Sample, marks: tuple[Mark, ...] = ()) -> None:
        """Take one more; those that were taken before are passed over."""
        now = (sample.boot_id, sample.monotonic_seconds)
        if self._last is not None and self._last[0] == now[0] and now[1] <= self._last[1]:
            return
        if self._node not in ("", sample.node):
            self._fail(
                f"{self.recording} is a recording of {self._node}, and this is {sample.node}", 1
            )
            return
        begins = self._builder.begins
        if begins is not None and not _belong_together(begins, sample):
            self.flush()
        if not len(self._builder) and not self._goes_on(sample):
            self._end_segment()
        if not len(self._builder):
            self._began = time.monotonic()
        try:
            self._builder.add(self._redact(sample) if self._redact else sample, marks)
        except (OverflowError, UnicodeEncodeError, TypeError) as error:
            self._fail(f"a sample has no form in a recording: {error}", 1)
            return
        self._last = now
        if self._builder.full or _is_whole(self._builder.begins, sample):
            self.flush()
        self._tidy(sample.time_seconds)

    def look(self) -> None:
        """Regularly: the open block is written also where nothing comes any more."""
        if len(self._builder) and time.monotonic() - self._began > BLOCK_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write the open block."""
        first = self._builder.begins
        if first is None:
            return
        count = len(self._builder)
        block = self._builder.finish()
        try:
            self._segment_for(first).append(block)
        except OSError as error:
            self._fail(f"the recording cannot be written: {self._why(error)}", count)
            return
        self.samples += count
        self.size_bytes += len(block)
        self.error = ""

    def close(self) -> None:
        """Write the open block, and end."""
        self.flush()
        self._end_segment()
        if self._thinning is not None:
            self._thinning.close()
            self._thinning = None

    def _end_segment(self) -> None:
        if self._segment is not None:
            self._segment.close()
            self._segment = None

    def _fail(self, sentence: str, samples: int) -> None:
        self.error = sentence
        self.lost_samples += samples

    def _why(self, error: OSError) -> str:
        if isinstance(error, FileNotFoundError):
            return f"the folder {self.recording.parent} is not there any more"
        return f"{reason(error)} ({self.recording.parent})"

    def _segment_for(self, first: Sample) -> SegmentFile:
        """The segment of a block that begins with that sample.

        Raises:
            OSError: when it cannot be made.
        """
        if not self._goes_on(first):
            self._end_segment()
        if self._segment is None:
            self._segment = SegmentFile(self.recording, first.time_seconds, first.boot_id)
        return self._segment

    def _goes_on(self, sample: Sample) -> bool:
        """Whether the open segment, if there is one, may hold that sample too."""
        segment = self._segment
        return segment is None or (
            segment.boot_id == sample.boot_id
            and same_hour(segment.began_seconds, sample.time_seconds)
            and segment.size_bytes < self._limits.segment_bytes
            and not segment.removed
        )

    def _tidy(self, now_seconds: float) -> None:
        """Remove and thin what is due, a little at a time."""
        if self._thinning is not None:
            self._thin_on()
            return
        if self._tidied is not None and 0 <= now_seconds - self._tidied < _TIDY_SECONDS:
            return
        self._tidied = now_seconds
        current = None if self._segment is None else self._segment.path
        try:
            self.size_bytes = remove_oldest(self.recording, self._limits, now_seconds, current)
            self._thinning = self._next_thinning(now_seconds, current)
        except OSError:
            pass  # whoever writes the next block says what is wrong

    def _thin_on(self) -> None:
        assert self._thinning is not None
        try:
            next(self._thinning)
        except StopIteration:
            self._thinning = None
            self._tidied = None
        except (OSError, RecordingError):
            self._thinning = None  # it stays as it is

    def _next_thinning(
        self, now_seconds: float, current: Path | None
    ) -> Generator[None, None, None] | None:
        segments = segments_of(self.recording)
        for number, segment in enumerate(segments):
            path = segment.path
            end = segment.began_seconds + SEGMENT_SECONDS
            if path == current or path in self._left_alone or end > now_seconds - self._thin_after:
                continue
            self._left_alone.add(path)
            around = [each.path for each in segments[max(0, number - 1) : number + 2]]
            try:
                if is_thinned(path):
                    continue
                events = [event for each in around for event in events_in(each)]
            except (OSError, RecordingError):
                continue
            return thinned(path, windows_of(events))
        return None


def _belong_together(first: Sample, sample: Sample) -> bool:
    """Whether both may stand in one block."""
    return (
        first.boot_id == sample.boot_id
        and first.node == sample.node
        and same_hour(first.time_seconds, sample.time_seconds)
    )


def _is_whole(first: Sample | None, sample: Sample) -> bool:
    """Whether a block is as long as it should be with this sample."""
    if first is None:
        return False
    seconds = sample.monotonic_seconds - first.monotonic_seconds
    return seconds + (1 + _JITTER) * sample.interval_seconds >= BLOCK_SECONDS


def _node_of(recording: Path) -> str:
    """The node whose recording bears this name already; '' where none does.

    Raises:
        RecordingError: when its folder cannot be listed.
    """
    try:
        segments = segments_of(recording)
    except OSError as error:
        raise RecordingError(
            f"{recording.parent} cannot hold a recording: {reason(error)}"
        ) from error
    for segment in reversed(segments):
        try:
            with Recording(segment.path) as before:
                return before.node
        except RecordingError:
            continue
    return ""
