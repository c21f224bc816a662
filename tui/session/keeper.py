"""The last ten minutes of what was seen, kept in memory, and written when asked or when an error is found."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...probes.model.mark import Mark
from ...probes.model.sample import Sample
from ...rules.finding import Judgement
from .found_marks import FoundMarks

if TYPE_CHECKING:
    from .past import TenMinutes

_FIRST = 10
"""What writes recordings is loaded after so many samples and judgements: the first picture is not to wait for it."""
MOST_FILES = 20
MOST_BYTES = 500_000_000
AGAIN_SECONDS = 600.0
"""The ten minutes after a finding hold what came next: the same one is not written again before."""
SETTLE_SECONDS = 20.0
"""What happens just after an error explains it as much as what came before."""
CLOSE_SECONDS = 2.0


class Keeper:
    """Takes up samples and judgements on the thread that judges.

    Args:
        folder: where to write by itself when an error is found; ``None``: nowhere.
        tell: takes a sentence about what was written, or could not be; called from other threads.
    """

    def __init__(self, folder: Path | None = None, tell: Callable[[str], None] = print) -> None:
        self.folder = folder
        self.tell = tell
        self._first: list[Sample | Mark | Judgement] = []
        self._made: TenMinutes | None = None
        self._lock = threading.Lock()
        self._marks = FoundMarks()
        self._written: dict[tuple[str, str], float] = {}
        self._due: tuple[float, Mark] | None = None
        self._writing: list[threading.Thread] = []
        self._files = 0
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """That it takes in memory."""
        return self._made.size_bytes if self._made else 0

    def sample(self, sample: Sample) -> None:
        """Keep a sample."""
        with self._lock:
            self._add(sample)

    def judgement(self, judgement: Judgement) -> None:
        """Keep what was found, and write it all a moment after an error began."""
        now = judgement.frame.time_seconds
        with self._lock:
            self._add(judgement)
        for mark in self._marks.of(judgement):
            with self._lock:
                self._add(mark)
            if mark.began and mark.severity == "error" and self._due is None and self._is_new(mark):
                self._due = (now + SETTLE_SECONDS, mark)
        if self._due is not None and now >= self._due[0]:
            mark, self._due = self._due[1], None
            if self.folder is not None:
                self._write_later(self.folder, mark, now)

    def moment(self, time_seconds: float) -> float | None:
        """Unix time of the moment that can be shown for that one; ``None``: nothing is kept yet."""
        with self._lock:
            return self._ten_minutes().moment(time_seconds)

    def at(self, moment: float) -> Judgement | None:
        """What was judged at one of these, worked out on the caller's thread; ``None``: it is not kept any more."""
        with self._lock:
            look = self._ten_minutes().look_back(moment)
        return look.judgement() if look else None

    def write_now(self) -> None:
        """All of it to a new file in the folder that one is in; says so when it is done."""
        path = Path(file_name(time.time())).absolute()
        self._start_writing(path)

    def close(self) -> None:
        """Write what is due, and wait a moment for all that is being written."""
        if self._due is not None and self.folder is not None:
            (_, mark), self._due = self._due, None
            self._write_later(self.folder, mark, mark.time_seconds)
        ends = time.monotonic() + CLOSE_SECONDS
        for thread in self._writing:
            thread.join(max(0.0, ends - time.monotonic()))
        if any(thread.is_alive() for thread in self._writing):
            self.tell("the last ten minutes are not written: the disk does not answer")

    def write(self, path: Path) -> str:
        """All of it to a new file; returns the sentence that says so. A dead mount may hold it for ever."""
        from ...probes.recording.segment import RecordingError, write_blocks

        with self._lock:
            blocks = self._ten_minutes().blocks()
        try:
            size = write_blocks(path, blocks)
        except RecordingError as error:
            return f"not written: {error}"
        with self._lock:
            self._bytes += size
        return f"the last ten minutes are in {path}"

    def _add(self, entry: Sample | Mark | Judgement) -> None:
        self._first.append(entry)
        if self._made is not None or len(self._first) > _FIRST:
            self._ten_minutes()

    def _ten_minutes(self) -> TenMinutes:
        """With all that came so far."""
        if self._made is None:
            from .past import TenMinutes

            self._made = TenMinutes()
        for entry in self._first:
            self._made.add(entry)
        self._first.clear()
        return self._made

    def _is_new(self, mark: Mark) -> bool:
        key = (mark.rule, mark.subject)
        if mark.time_seconds - self._written.get(key, -1e12) < AGAIN_SECONDS:
            return False
        recent = mark.time_seconds - AGAIN_SECONDS
        self._written = {each: at for each, at in self._written.items() if at > recent}
        self._written[key] = mark.time_seconds
        return self.folder is not None

    def _write_later(self, folder: Path, mark: Mark, now: float) -> None:
        """On a thread of its own: a dead mount must not stop the judging."""
        if self._files >= MOST_FILES or self._bytes >= MOST_BYTES:
            return
        self._files += 1
        path = folder / file_name(now, mark.rule)
        self._start_writing(path)

    def _start_writing(self, path: Path) -> None:
        thread = threading.Thread(target=lambda: self.tell(self.write(path)), daemon=True)
        thread.start()
        with self._lock:
            self._writing = [thread, *(each for each in self._writing if each.is_alive())]


def file_name(time_seconds: float, what: str = "") -> str:
    """``gputop-20261130T220000Z-HW206.gtop``."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time_seconds))
    return "-".join(filter(None, ("gputop", stamp, what))) + ".gtop"
