"""Turns verdicts, which flicker, into findings, which do not."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..probes.frame import Frame
from .causes import with_causes
from .finding import SEVERITY_ORDER, Finding, FindingState, Judgement, Verdict
from .history import History
from .rule import Rule, Scene

KEEP_CLEARED_SECONDS = 600.0

_log = logging.getLogger(__name__)
_Key = tuple[str, tuple[str, str]]


@dataclass
class _Case:
    """One rule on one subject, from the first frame in which it held."""

    rule: Rule
    verdict: Verdict
    began: float
    """Monotonic seconds, as all times here."""
    last_held: float
    became_active: bool = False
    cleared_at: float | None = None

    @property
    def state(self) -> FindingState:
        if self.cleared_at is not None:
            return "cleared"
        return "active" if self.became_active else "pending"


class Engine:
    """Feed it every frame in order; it remembers what it must.

    All times are the frames' own, so a replay is judged exactly as the live run was.
    """

    def __init__(self, rules: Iterable[Rule], history: History | None = None) -> None:
        self._rules = tuple(rules)
        self.history = history or History()
        self.broken: dict[str, str] = {}
        """Rules that raised, with the reason; they are left out from then on."""
        self._cases: dict[_Key, _Case] = {}
        self._cleared: list[_Case] = []

    def judge(self, frame: Frame) -> Judgement:
        """What the rules say now."""
        self.history.add(frame)
        now = frame.monotonic_seconds
        held = {key for rule in self._rules for key in self._apply(rule, frame, now)}
        self._expire(held, now)
        return Judgement(frame=frame, findings=self._findings(frame))

    def _apply(self, rule: Rule, frame: Frame, now: float) -> list[_Key]:
        """Take up the rule's verdicts; the keys of those that hold."""
        if rule.id in self.broken:
            return []
        held: list[_Key] = []
        for verdict in self._verdicts(rule, Scene(frame, self.history)):
            key = (rule.id, verdict.subject.key)
            if verdict.holds:
                self._hold(key, rule, verdict, now)
                held.append(key)
        return held

    def _verdicts(self, rule: Rule, scene: Scene) -> Sequence[Verdict]:
        try:
            return tuple(rule.judge(scene))
        except Exception as error:  # noqa: BLE001 - the edge where a broken rule ends, not the rest
            _log.exception("rule %s failed", rule.id)
            self.broken[rule.id] = f"{type(error).__name__}: {error}"
            return ()

    def _hold(self, key: _Key, rule: Rule, verdict: Verdict, now: float) -> None:
        began = now if verdict.since_monotonic_seconds is None else verdict.since_monotonic_seconds
        case = self._cases.get(key)
        if case is None:
            case = self._cases[key] = _Case(rule, verdict, began, now)
        case.verdict = verdict
        case.last_held = now
        case.began = min(case.began, began)
        case.became_active |= now - case.began >= rule.hold_seconds

    def _expire(self, held: set[_Key], now: float) -> None:
        """End the cases that no longer hold: pending ones at once, active ones after a while."""
        for key, case in list(self._cases.items()):
            if key in held:
                continue
            if not case.became_active:
                del self._cases[key]
            elif now - case.last_held >= case.rule.clear_seconds:
                case.cleared_at = now
                self._cleared.append(self._cases.pop(key))
        self._cleared = [
            case for case in self._cleared if now - (case.cleared_at or now) < KEEP_CLEARED_SECONDS
        ]

    def _findings(self, frame: Frame) -> tuple[Finding, ...]:
        present = [_finding(case, frame) for case in self._cases.values()]
        gone = [_finding(case, frame) for case in reversed(self._cleared)]
        explains = {rule.id: rule.explains for rule in self._rules}
        return (*with_causes(sorted(present, key=_urgency), explains), *gone)


def _urgency(finding: Finding) -> tuple[bool, int, str, float]:
    severity = SEVERITY_ORDER[finding.severity]
    return (finding.state == "pending", severity, finding.id, finding.since_seconds)


def _finding(case: _Case, frame: Frame) -> Finding:
    to_unix = frame.time_seconds - frame.monotonic_seconds
    verdict = case.verdict
    return Finding(
        id=case.rule.id,
        name=case.rule.name,
        severity=verdict.severity or case.rule.severity,
        subject=verdict.subject,
        state=case.state,
        since_seconds=case.began + to_unix,
        seen_seconds=case.last_held - case.began,
        cleared_seconds=None if case.cleared_at is None else case.cleared_at + to_unix,
        confidence=verdict.confidence,
        evidence=verdict.evidence,
        next_step=verdict.next_step or case.rule.next_step,
    )
