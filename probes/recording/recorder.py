"""Recording beside everything else, on a thread of its own: a disk that hangs holds up nobody."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING, NamedTuple

from ..model.sample import Sample
from .errors import RecordingError
from .marks import ACTIVE, Mark

if TYPE_CHECKING:  # whoever gives one has loaded it, and the screen needs a ring alone
    from .incidents import Incidents
    from .ring import Ring
    from .writer import Writer

QUEUE_SAMPLES = 30
"""More than that wait only where a disk hangs; a sample takes half a megabyte."""
CLOSE_SECONDS = 2.0
_TURN_SECONDS = 1.0


class _Taken(NamedTuple):
    sample: Sample
    marks: tuple[Mark, ...]


class _Save(NamedTuple):
    path: Path
    force: bool
    on_done: Callable[[str], None]


class Recorder:
    """Takes samples from one thread and records them on another.

    Args:
        writer: of a recording; closed in the end.
        ring: keeps the last minutes.
        incidents: write the ring when an error becomes active.
        on_notice: takes a sentence that the reader should see, on the thread of the recorder.
    """

    def __init__(
        self,
        *,
        writer: Writer | None = None,
        ring: Ring | None = None,
        incidents: Incidents | None = None,
        on_notice: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.writer = writer
        self._ring = ring
        self._incidents = incidents
        self._on_notice = on_notice
        self._queue: Queue[_Taken | _Save | None] = Queue(QUEUE_SAMPLES)
        self._errors: set[tuple[str, str, str]] = set()
        self._now = 0.0
        """Unix time of the newest sample."""
        self._told = ""
        self.dropped_samples = 0
        """That came while the queue was full: the disk hangs."""
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
        self._thread.start()

    def take(self, sample: Sample, marks: tuple[Mark, ...]) -> None:
        """Take one more; never waits."""
        try:
            self._queue.put_nowait(_Taken(sample, marks))
        except Full:
            self.dropped_samples += 1

    def save(self, path: Path, on_done: Callable[[str], None], *, force: bool = False) -> None:
        """Write the last minutes to a new file; ``on_done`` takes a sentence, on another thread."""
        try:
            self._queue.put_nowait(_Save(path, force, on_done))
        except Full:
            on_done(self.hangs())

    @property
    def idle(self) -> bool:
        """Whether all that came is recorded, but for what a block waits for."""
        return self._queue.unfinished_tasks == 0

    def hangs(self) -> str:
        """One sentence on a disk that holds up the recording, or ''."""
        if not self._queue.full():
            return ""
        where = f" in {self.writer.recording.parent}" if self.writer else ""
        return f"the recording hangs{where}: {self.dropped_samples} samples are lost so far"

    def close(self, seconds: float = CLOSE_SECONDS) -> str:
        """Write what is left, and end. Returns one line on what could not be written, or ''."""
        deadline = time.monotonic() + seconds
        with contextlib.suppress(Full):
            self._queue.put(None, timeout=seconds)
        self._thread.join(max(0.0, deadline - time.monotonic()))
        to_write = self.writer is not None or self._incidents is not None
        if to_write and self._thread.is_alive():
            return "the recording hangs: what came last is not in it"
        return ""

    def _work(self) -> None:
        try:
            self._record_all()
        except Exception as error:  # noqa: BLE001
            # A fault of ours ends the recording, and nothing else.
            self._on_notice(f"the recording has ended: {type(error).__name__}: {error}")

    def _record_all(self) -> None:
        while True:
            try:
                item = self._queue.get(timeout=_TURN_SECONDS)
            except Empty:
                if self.writer is not None:
                    self.writer.look()
                continue
            if item is None:
                break
            if isinstance(item, _Save):
                item.on_done(self._save(item))
            else:
                self._record(item)
            self._queue.task_done()
        if self._ring is not None and self._incidents is not None:
            self._save_incident(self._ring, self._incidents, early=True)
        if self.writer is not None:
            self.writer.close()

    def _record(self, taken: _Taken) -> None:
        if self.writer is not None:
            self.writer.take(taken.sample, taken.marks)
            self._tell(self.writer.error)
        if self._ring is None:
            return
        try:
            self._ring.take(taken.sample, taken.marks)
        except (OverflowError, UnicodeEncodeError, TypeError) as error:
            self._tell(f"a sample has no form in a recording: {error}")
        if self._incidents is not None:
            self._note_errors(self._incidents, taken)
            self._save_incident(self._ring, self._incidents)

    def _note_errors(self, incidents: Incidents, taken: _Taken) -> None:
        self._now = taken.sample.time_seconds
        errors = {
            mark.key for mark in taken.marks if mark.state == ACTIVE and mark.severity == "error"
        }
        for id, *_ in sorted(errors - self._errors):
            incidents.note(id, self._now)
        self._errors = errors

    def _save_incident(self, ring: Ring, incidents: Incidents, *, early: bool = False) -> None:
        try:
            path = incidents.save(ring, self._now, early=early)
        except RecordingError as error:
            self._tell(str(error))
        else:
            if path is not None:
                self._on_notice(f"the last minutes are saved in {path}")

    def _save(self, wanted: _Save) -> str:
        if self._ring is None:
            return "nothing is kept to be saved"
        try:
            size = self._ring.save(wanted.path, force=wanted.force)
        except RecordingError as error:
            return str(error)
        return f"the last minutes are saved in {wanted.path} ({size / 1e6:.1f} MB)"

    def _tell(self, sentence: str) -> None:
        """Say what is wrong, once."""
        if sentence and sentence != self._told:
            self._on_notice(sentence)
        self._told = sentence
