"""What a watch records beside its judging: each sample, with the findings as they were judged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...probes.model.sample import Sample
from ...probes.recording.marks import Mark
from ...probes.recording.recorder import Recorder
from ...probes.recording.ring import Ring
from ...rules.finding import Finding, Judgement

if TYPE_CHECKING:  # what only some need is loaded by them: the screen starts with this
    from ...probes.recording.incidents import Incidents
    from ...probes.recording.writer import Writer

_FRESH_SECONDS = 10.0
"""The evidence of a finding that goes on is kept anew so often."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Finding).decode


class FlightRecorder:
    """Records on a thread of its own; whoever judges never waits for it.

    Args:
        writer: of a recording that goes on; else the last ten minutes are kept in memory.
        incidents: write them when an error becomes active.
        simulated: nothing in the samples is real.
        on_notice: takes a sentence that the reader should see, on another thread.
    """

    def __init__(
        self,
        *,
        writer: Writer | None = None,
        incidents: Incidents | None = None,
        simulated: bool = False,
        on_notice: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._marks: tuple[Mark, ...] = ()
        self._shown: tuple[object, ...] = ()
        self._marked = float("-inf")
        self._newest: Sample | None = None
        self.recorder = Recorder(
            writer=writer,
            ring=None if writer else Ring(simulated=simulated),
            incidents=incidents,
            on_notice=on_notice,
        )

    def take(self, sample: Sample, judgement: Judgement) -> None:
        """Record a sample with what was judged of it."""
        self._newest = sample
        self.recorder.take(sample, self._marks_of(judgement))

    def _marks_of(self, judgement: Judgement) -> tuple[Mark, ...]:
        """The same object while nothing has changed: then nothing is written of it."""
        now = judgement.frame.monotonic_seconds
        shown = tuple(
            (finding.id, finding.subject.key, finding.state, finding.severity)
            for finding in judgement.findings
        )
        if shown != self._shown or not 0 <= now - self._marked < _FRESH_SECONDS:
            self._shown, self._marked = shown, now
            self._marks = tuple(mark_of(finding) for finding in judgement.findings)
        return self._marks

    def save(self, folder: Path, on_done: Callable[[str], None]) -> None:
        """Write the last minutes to a new file; ``on_done`` takes a sentence, perhaps on another thread."""
        from ...probes.recording.names import moment

        sample = self._newest
        if sample is None:
            on_done("there is nothing to save yet")
            return
        node = "".join(
            letter if letter.isalnum() or letter in "._-" else "_" for letter in sample.node
        )
        path = folder / f"gputop-{node}-{moment(sample.time_seconds)}.gtop"
        self.recorder.save(path, on_done)

    def close(self, seconds: float) -> str:
        """End it; a line on what could not be written, or ''."""
        return self.recorder.close(seconds)


def mark_of(finding: Finding) -> Mark:
    """A finding as it travels in a recording."""
    return Mark(
        id=finding.id,
        name=finding.name,
        severity=finding.severity,
        state=finding.state,
        subject_kind=finding.subject.kind,
        subject_id=finding.subject.id,
        since_seconds=finding.since_seconds,
        finding=msgspec.Raw(_encode(finding)),
    )


def finding_of(mark: Mark) -> Finding | None:
    """The finding as it was judged; ``None`` where a later program made it and this one cannot read it."""
    try:
        return _decode(mark.finding)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
