"""A watched job against what is true of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from .ask import Answer, Told, ask, look_once
from .case import Case
from .start import JobFailed, Setting, started

BEFORE_SECONDS = 6.0
"""A fault that is announced comes after so long."""
LATE_SECONDS = 15.0
"""What was not told when it was due may still be told so much later."""
ENDED = "has exited"
_ID = re.compile(r"[A-Z]{2,3}\d{3}")
_PLACE = re.compile(r"[\w<>.]+ \(\w+\.py:\d+\)")
"""Our jobs' own functions have telling names: that one is named is no cause."""


@dataclass(frozen=True)
class Outcome:
    """What came of one run of a case."""

    case: Case
    answer: Answer
    watched_seconds: float
    told_seconds: float | None = None
    """Within so long after the fault's beginning it was told; ``None``: not at all."""
    broken: str = ""
    """Why nothing was measured."""

    @property
    def flagged(self) -> bool:
        return self.told_seconds is not None or bool(self.answer.alarms)

    @property
    def first(self) -> Told | None:
        """The finding on top, whatever it is about."""
        return self.answer.weighty[0] if self.answer.weighty else None

    @property
    def in_time(self) -> bool:
        return self.told_seconds is not None and self.told_seconds <= self.case.due_seconds

    @property
    def right_rank(self) -> bool:
        return self.first is not None and self.first.rank in self.case.culprits

    @property
    def right_cause(self) -> bool:
        return self.first is not None and any(fits(self.first, each) for each in self.case.causes)

    @property
    def failure(self) -> str:
        """What was not as it should be, in words; empty where all was."""
        if self.answer.could_not_look and ENDED not in self.answer.could_not_look:
            return f"could not look: {self.answer.could_not_look}"
        if not self.case.faulty:
            return "false alarm" if self.answer.alarms else ""
        if not self.flagged:
            return f"not told in {self.watched_seconds:.0f} s"
        wrong = [
            "" if self.in_time else f"late, after {self.told_seconds:.0f} s",
            "" if self.right_rank else "wrong rank",
            "" if self.right_cause else "wrong cause on top",
        ]
        return ", ".join(each for each in wrong if each)


def fits(finding: Told, cause: str) -> bool:
    """Whether it is that rule, or has those words."""
    if _ID.fullmatch(cause):
        return finding.id == cause
    said = _PLACE.sub("", f"{finding.name}\n{finding.text}")
    return re.search(cause, said, re.IGNORECASE) is not None


def measure(case: Case, setting: Setting, healthy_seconds: float) -> Outcome:
    """Start it, watch it, end it."""
    try:
        with started(case, setting) as pid:
            return _watch(case, pid, setting, healthy_seconds)
    except JobFailed as failed:
        return Outcome(case, Answer(()), 0.0, broken=f"the job did not start: {failed}")


def _watch(case: Case, pid: int, setting: Setting, healthy_seconds: float) -> Outcome:
    if not case.faulty:
        return Outcome(case, _left_alone(pid, setting, healthy_seconds), healthy_seconds)
    due = case.due_seconds
    seconds = due + (BEFORE_SECONDS if case.announced else 0.0)
    outcome = Outcome(case, ask(pid, seconds, setting), seconds)
    if outcome.answer.alarms:
        return replace(outcome, told_seconds=due)
    later = Outcome(case, ask(pid, LATE_SECONDS, setting), seconds + LATE_SECONDS)
    return replace(later, told_seconds=due + LATE_SECONDS) if later.answer.alarms else later


def _left_alone(pid: int, setting: Setting, seconds: float) -> Answer:
    """What one look says counts as much as what a watch does."""
    once, watched = look_once(pid, setting), ask(pid, seconds, setting)
    known = {(each.id, each.rank) for each in watched.alarms}
    more = tuple(each for each in once.alarms if (each.id, each.rank) not in known)
    return Answer(more + watched.findings, watched.could_not_look or once.could_not_look)
