"""Which rules need not look at this frame: what they judge changes too slowly."""

from __future__ import annotations

from collections.abc import Sequence

from ..probes.model.frame import Frame
from .finding import Verdict
from .rule import Rule


class Looks:
    """The verdicts that still stand.

    When a GPU or a rank comes or goes, all rules look anew: nobody may be judged by who was there before.
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._there: object = None
        self._last: dict[str, tuple[float, Sequence[Verdict]]] = {}

    def begin(self, frame: Frame) -> None:
        """A new frame."""
        self._now = frame.monotonic_seconds
        there = (
            [(gpu.index, gpu.status) for gpu in frame.gpus],
            [[(rank.pid, rank.start_time_seconds) for rank in job.ranks] for job in frame.running],
            frame.host is None,
        )
        if there != self._there:
            self._there = there
            self._last.clear()

    def standing(self, rule: Rule) -> Sequence[Verdict] | None:
        """What the rule said; ``None`` where it has to look now."""
        if not rule.look_seconds:
            return None
        at, verdicts = self._last.get(rule.id, (-1e9, ()))
        return verdicts if 0 <= self._now - at < rule.look_seconds else None

    def keep(self, rule: Rule, verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
        """It has looked."""
        if rule.look_seconds:
            self._last[rule.id] = (self._now, verdicts)
        return verdicts
