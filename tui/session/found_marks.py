"""Findings as marks of a recording: when each began to count, and when it ceased to."""

from __future__ import annotations

from collections.abc import Iterator

from ...probes.model.mark import Mark
from ...rules.finding import Finding, Judgement
from ..drawing.finding_words import subject_text

_Key = tuple[str, tuple[str, str]]


class FoundMarks:
    """Compares each judgement with the one before."""

    def __init__(self) -> None:
        self._active: dict[_Key, Finding] = {}

    def of(self, judgement: Judgement) -> Iterator[Mark]:
        """What changed with it."""
        now = {(each.id, each.subject.key): each for each in judgement.active}
        moment = judgement.frame.time_seconds
        for key, finding in now.items():
            before = self._active.get(key)
            if before is None or before.severity != finding.severity:
                yield _mark(finding, moment, began=True)
        for key, finding in self._active.items():
            if key not in now:
                yield _mark(finding, moment, began=False)
        self._active = now


def _mark(finding: Finding, time_seconds: float, *, began: bool) -> Mark:
    return Mark(
        time_seconds=time_seconds,
        rule=finding.id,
        name=finding.name,
        severity=finding.severity,
        subject=subject_text(finding.subject),
        began=began,
    )
