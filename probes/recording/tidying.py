"""What becomes of the files of a recording as they age: thinned after an hour, removed in the end."""

from __future__ import annotations

import calendar
import time
from collections.abc import Generator
from pathlib import Path

from .recording import segments_of
from .segment import RecordingError, Segment
from .thinning import is_thinned, marks_of, thinned, windows_of

SEGMENT_SECONDS = 3600.0
THINNED_AFTER_SECONDS = 3600.0
"""From the end of a file's hour on."""
_LOOK_SECONDS = 60.0
_STAMP = "%Y%m%dT%H%M%SZ"


class Tidier:
    """Does a little each time that it is called: recording goes on meanwhile.

    Args:
        name: of the recording, with its folder; files of earlier runs are its files too.
        most_bytes: of all of them; ``None``: no limit.
        keep_seconds: what is older is removed; ``None``: nothing is.
    """

    def __init__(self, name: Path, most_bytes: int | None, keep_seconds: float | None) -> None:
        self._name = name
        self._most_bytes = most_bytes
        self._keep_seconds = keep_seconds
        self._looked: float | None = None
        self._work: Generator[None, None, None] | None = None
        self._done: set[Path] = set()
        """Files that are thinned, or cannot be."""

    def step(self, now_seconds: float, current: Path | None) -> None:
        """Remove and thin what is due by then, but for the file that is written."""
        if self._work is not None:
            self._work_on()
        elif self._looked is None or not 0 <= now_seconds - self._looked < _LOOK_SECONDS:
            self._looked = now_seconds
            try:
                self.remove(now_seconds, current)
                self._work = self._due(now_seconds, current)
            except OSError:
                pass  # whoever writes the next block says what is wrong

    def remove(self, now_seconds: float, current: Path | None) -> None:
        """Remove the oldest, as many as are too old or too much.

        Raises:
            OSError: where one cannot be.
        """
        files = [each for each in segments_of(self._name) if each.is_file()]
        sizes = {each: each.stat().st_size for each in files}
        left = sum(sizes.values())
        for each in files:
            too_much = self._most_bytes is not None and left > self._most_bytes
            if each != current and (too_much or self._is_old(each, now_seconds)):
                each.unlink(missing_ok=True)
                left -= sizes[each]

    def close(self) -> None:
        """Leave what is half done as it was."""
        if self._work is not None:
            self._work.close()
            self._work = None

    def _is_old(self, path: Path, now_seconds: float) -> bool:
        if self._keep_seconds is None:
            return False
        return began_seconds(path) + SEGMENT_SECONDS < now_seconds - self._keep_seconds

    def _work_on(self) -> None:
        assert self._work is not None
        try:
            next(self._work)
        except StopIteration:
            self._work, self._looked = None, None
        except (RecordingError, OSError):
            self._work = None  # it stays as it is

    def _due(self, now_seconds: float, current: Path | None) -> Generator[None, None, None] | None:
        files = segments_of(self._name)
        for number, path in enumerate(files):
            hour_ended = began_seconds(path) // SEGMENT_SECONDS * SEGMENT_SECONDS + SEGMENT_SECONDS
            old = hour_ended + THINNED_AFTER_SECONDS <= now_seconds
            if path == current or path in self._done or not old:
                continue
            self._done.add(path)
            try:
                segment = Segment(path)
                if is_thinned(segment):
                    continue
                # A finding keeps what was before it also where that is in the file before.
                around = [Segment(each) for each in files[max(0, number - 1) : number + 2]]
            except RecordingError:
                continue
            return thinned(segment, windows_of(m for each in around for m in marks_of(each)))
        return None


def began_seconds(path: Path) -> float:
    """Unix time of a file's first sample, as its name tells; 0.0 where that is no time."""
    try:
        return float(calendar.timegm(time.strptime(path.stem.rsplit("-", 2)[-2], _STAMP)))
    except (ValueError, IndexError):
        return 0.0
