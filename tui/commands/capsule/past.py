"""The minutes before, from a recording that was being made: the part that no look at the present can bring."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ....probes.derive.cache import DeriveCache
from ....probes.derive.frame import derive
from ....probes.feeds.protocol import FeedError
from ....probes.model.frame import Frame
from ....probes.model.job_frames import JobFrame
from ....probes.model.mark import Mark
from ....probes.model.sample import Sample
from ....probes.recording.block import Entry, encode
from ....probes.recording.lock import running_recording
from ....probes.recording.redaction import Redactor
from ....probes.recording.segment import RecordingError
from ....probes.recording.writer import Blocks
from ....rules.engine import Engine
from ....rules.finding import Judgement
from ...session.found_marks import FoundMarks
from ..recorded import opened

BEFORE_SECONDS = 600.0


def recording_that_goes_on() -> str | None:
    """The name of this user's recording of this node, where one goes on and has something on the disk."""
    path = running_recording()
    if path is None:
        return None
    try:
        opened(str(path))
    except FeedError:
        return None  # it has just begun
    return str(path)


def entries_before(name: str, live: Sample) -> list[Entry]:
    """What a recording of this node has of the ten minutes before a sample.

    Args:
        name: of the recording.
        live: the first sample that was taken now.

    Raises:
        FeedError: where it cannot be read, or is of another node.
    """
    recording = opened(name)
    if recording.node != live.node:
        raise FeedError(
            f"{name} is a recording of {recording.node}, and this is {live.node}: gputop cut makes a part of it"
        )
    try:
        return [
            entry
            for entry in recording.entries(live.time_seconds - BEFORE_SECONDS, live.time_seconds)
            if entry.time_seconds < live.time_seconds
        ]
    except RecordingError as error:
        raise FeedError(str(error)) from error


class Whole:
    """The minutes before and the look at the present as one recording, and what the rules say at its end.

    Args:
        before: samples and marks of a recording; empty where there is none.
        live: samples that were taken now.
        engine: a fresh one.
        redactor: makes all of it fit to be handed on; ``None``: it stays as it was read.
        pids: of the ranks that it is about.
    """

    def __init__(
        self,
        before: Sequence[Entry],
        live: Sequence[Sample],
        engine: Engine,
        redactor: Redactor | None,
        pids: Collection[int],
    ) -> None:
        self._pids = frozenset(pids)
        self._engine = engine
        self._marks = FoundMarks()
        self._cache = DeriveCache()
        self._frame: Frame | None = None
        self._blocks = Blocks()
        self._encoded: list[bytes] = []
        self.samples: list[Sample] = []
        """Those of the present, as they are written."""
        self.judgement: Judgement | None = None
        """The last."""
        self.with_jobs: Judgement | None = None
        """The last in which a rank lived."""
        for entry in before:
            if isinstance(entry, Sample):
                self._take(redactor.record(entry) if redactor else entry, marked=redactor is None)
            elif (
                redactor is None
            ):  # its subject is words, which are found anew where they may not stay
                self._add(entry)
        for sample in live:
            self.samples.append(redactor.record(sample) if redactor else sample)
            self._take(self.samples[-1], marked=False)

    def recording(self) -> bytes:
        """All of it, as a file."""
        last = self._blocks.take()
        if last is not None:
            self._encoded.append(encode(last))
        return b"".join(self._encoded)

    def jobs_of(self, frame: Frame) -> list[JobFrame]:
        """The jobs of a frame that it is about."""
        return [job for job in frame.running if any(rank.pid in self._pids for rank in job.ranks)]

    def _take(self, sample: Sample, *, marked: bool) -> None:
        """Judge it; of one that has its marks from when it was recorded, none are made."""
        self._add(sample)
        self._frame = derive(self._frame, sample, self._cache)
        self.judgement = self._engine.judge(self._frame)
        if self.jobs_of(self._frame):
            self.with_jobs = self.judgement
        marks: list[Mark] = list(self._marks.of(self.judgement))
        for mark in marks if not marked else ():
            self._add(mark)

    def _add(self, entry: Entry) -> None:
        full = self._blocks.add(entry)
        if full is not None:
            self._encoded.append(encode(full))
