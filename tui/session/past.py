"""The last ten minutes in memory: what was read, as blocks of a recording, and what was judged."""

from __future__ import annotations

from ...probes.derive.cache import DeriveCache
from ...probes.derive.frame import derive
from ...probes.model.frame import Frame
from ...probes.model.mark import Mark
from ...probes.model.sample import Sample
from ...probes.recording.block import entries_of
from ...probes.recording.ring import Ring
from ...rules.finding import Judgement
from .judged import Judged, JudgedRing

BEFORE_SECONDS = 60.0
"""So much before a moment is worked out with it: rates and what is remembered of ranks need what went before."""


class TenMinutes:
    """Who uses it sees to it that only one thread does at a time."""

    def __init__(self) -> None:
        self._read = Ring()
        self._judged = JudgedRing()

    @property
    def size_bytes(self) -> int:
        """That it takes."""
        return self._read.bytes + self._judged.bytes

    def add(self, entry: Sample | Mark | Judgement) -> None:
        """Take up what is newest."""
        if isinstance(entry, Judgement):
            self._judged.add(entry)
        else:
            self._read.add(entry)

    def blocks(self) -> list[bytes]:
        """What was read, with the marks of what was found."""
        return self._read.blocks()

    def moment(self, time_seconds: float) -> float | None:
        """When something was judged last before that, or else first after it; ``None``: nothing is kept."""
        times = self._judged.times
        return max(
            (time for time in times if time <= time_seconds), default=min(times, default=None)
        )

    def look_back(self, moment: float) -> Look | None:
        """What is needed to show a moment again; ``None`` where it is not kept any more."""
        judged = self._judged.of(moment)
        if judged is None:
            return None
        return Look(judged, self._read.blocks_since(moment - BEFORE_SECONDS))


class Look:
    """A moment of the past that can be worked out on any thread.

    Args:
        judged: what was judged then.
        blocks: that reach from before it beyond it.
    """

    def __init__(self, judged: Judged, blocks: list[bytes]) -> None:
        self._judged = judged
        self._blocks = blocks

    def judgement(self) -> Judgement | None:
        """As it was then; ``None`` where its sample is not kept any more."""
        frame: Frame | None = None
        cache = DeriveCache()
        for block in self._blocks:
            for entry in entries_of(block):
                if isinstance(entry, Mark):
                    continue
                if entry.time_seconds < self._judged.time_seconds - BEFORE_SECONDS:
                    continue
                frame = derive(frame, entry, cache)
                if entry.time_seconds == self._judged.time_seconds:
                    return self._judged.with_frame(frame)
        return None
