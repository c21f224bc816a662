"""Turns verdicts, which flicker, into findings, which do not."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from ..probes.model.frame import Frame
from ..probes.model.gpu_frames import stale_after_seconds
from .account.book import AccountBook
from .causes import with_causes
from .finding import (
    NO_PRICE,
    SEVERITY_ORDER,
    Account,
    Finding,
    FindingState,
    Judgement,
    NotEvaluated,
    Price,
    Severity,
    Verdict,
)
from .history import History
from .job_labels import job_labels
from .looks import Looks
from .price import Meter
from .rule import Rule, Scene
from .unevaluated import failed_rule, why_not_evaluated

KEEP_CLEARED_SECONDS = 600.0
MOST_CLEARED = 100

_log = logging.getLogger(__name__)
_Key = tuple[str, tuple[str, str]]
_LEVELS: tuple[Severity, ...] = ("info", "warning", "error")
_BASE: Severity = "info"


class _Span(msgspec.Struct):
    """Time over which something held. All times are monotonic seconds."""

    began: float
    last_held: float
    active: bool = False

    def hold(self, now: float, began: float, hold_seconds: float, counts_from: float) -> None:
        """It holds now, and has since ``began``; what was before ``counts_from`` does not make it count."""
        self.began = min(self.began, began)
        self.last_held = now
        self.active |= now - max(self.began, counts_from) >= hold_seconds

    def over(self, now: float, clear_seconds: float, unknown: bool) -> bool:
        """Whether not holding ends it. One that never counted ends at once, unless all is dark."""
        if self.active or unknown:
            return now - self.last_held >= clear_seconds
        return True


class _Case(msgspec.Struct):
    """One rule on one subject, from the first frame in which it held.

    Each severity has its own hold-down both ways: the finding gets worse only once the worse has
    lasted, and better only once the worse has been gone for a while.
    """

    rule: Rule
    verdict: Verdict
    spans: dict[Severity, _Span] = msgspec.field(default_factory=dict[Severity, _Span])
    """Of each severity or worse; the lowest is the case's own."""
    active: bool = False
    price: Price = NO_PRICE
    """Of the newest moment in which it held."""
    meter: Meter = msgspec.field(default_factory=Meter)
    counts_from: float = -math.inf
    """A change of cause passes its own hold-down, however old the state is that it names."""

    @property
    def state(self) -> FindingState:
        return "active" if self.active else "pending"

    @property
    def severity(self) -> Severity:
        """The worst that has lasted; while pending, the worst that every look so far has reached."""
        base = self.spans[_BASE]
        for level in reversed(_LEVELS):
            span = self.spans.get(level)
            if span is not None and (span.active if self.active else span.began == base.began):
                return level
        return _BASE

    @property
    def last_held(self) -> float:
        """When it held last."""
        return self.spans[_BASE].last_held

    @property
    def _newest(self) -> Severity:
        return self.verdict.severity or self.rule.severity

    def hold(self, verdict: Verdict, now: float) -> None:
        """The rule says that it holds."""
        self.verdict = verdict
        since = verdict.since_monotonic_seconds
        began = now if since is None else min(now, since)
        worst = SEVERITY_ORDER[self._newest]
        for level in _LEVELS:
            if SEVERITY_ORDER[level] >= worst:
                span = self.spans.get(level)
                if span is None:
                    span = self.spans[level] = _Span(began, now)
                span.hold(now, began, self.rule.hold_seconds, self.counts_from)
            else:
                self._end(level, now, unknown=False)
        self.active = self.active or self.spans[_BASE].active

    def cost(self, verdict: Verdict, frame: Frame, book: AccountBook) -> None:
        """Add what it has cost since it held last; nothing for time in which nobody looked."""
        span = self.spans.get(_BASE)
        seconds = 0.0
        if span is not None:
            passed = frame.monotonic_seconds - span.last_held
            seconds = min(passed, stale_after_seconds(frame.interval_seconds))
        self.price = self.meter.price(self.rule, verdict, frame, seconds, book)

    def release(self, now: float, unknown: bool) -> bool:
        """The rule says that it does not hold, or cannot tell. Whether that ends the case."""
        for level in tuple(self.spans):
            self._end(level, now, unknown=unknown)
        return not self.spans

    def _end(self, level: Severity, now: float, *, unknown: bool) -> None:
        span = self.spans.get(level)
        if span is not None and span.over(now, self.rule.clear_seconds, unknown):
            del self.spans[level]


class Engine:
    """Feed it every frame in order; it remembers what it must.

    All times are the frames' own, so a replay is judged exactly as the live run was. After a step
    back in time, or a restart of the node, it begins anew.
    """

    def __init__(self, rules: Iterable[Rule], history: History | None = None) -> None:
        self._rules = tuple(rules)
        self._explains = {rule.id: rule.explains for rule in self._rules}
        self._job_wide = frozenset(rule.id for rule in self._rules if rule.job_wide)
        self._only_in = {
            rule.id: rule.explains_waits_in for rule in self._rules if rule.explains_waits_in
        }
        self.history = history or History()
        self._book = AccountBook()
        self._looks = Looks()
        self.broken: dict[str, str] = {}
        """Rules that raised, with the reason; they are left out from then on."""
        self._cases: dict[_Key, _Case] = {}
        self._labels: Mapping[str, str] = {}
        """Of the jobs of the frame, where ranks need them."""
        self._cleared: list[tuple[float, Finding]] = []
        self._last: tuple[str, float] | None = None
        self._places: dict[int, tuple[int | None, str]] = {}
        """GPU index → rank and job that were on it last: a lost GPU lists no process any more."""

    def judge(self, frame: Frame) -> Judgement:
        """What the rules say now."""
        now = frame.monotonic_seconds
        if self._last is not None and (self._last[0] != frame.boot_id or now < self._last[1]):
            self._forget()
        self._last = (frame.boot_id, now)
        self.history.add(frame)
        for gpu in frame.gpus:
            if gpu.job_id is not None:
                self._places[gpu.index] = (gpu.rank, gpu.job_id)
        self._labels = job_labels(frame.jobs)
        scene = Scene(frame, self.history)
        self._looks.begin(frame)
        held: set[_Key] = set()
        unknown: set[_Key] = set()
        not_evaluated: list[NotEvaluated] = []
        for rule in self._rules:
            verdicts = () if rule.id in self.broken else self._looked(rule, scene)
            self._apply(rule, verdicts, frame, held, unknown)
            why = self.broken.get(rule.id)
            cannot = failed_rule(rule, why) if why else why_not_evaluated(rule, verdicts)
            if cannot is not None:
                not_evaluated.append(cannot)
        self._release(held, unknown, frame)
        findings = self._findings(frame)
        active = [finding for finding in findings if finding.state == "active"]
        return Judgement(
            frame=frame,
            findings=findings,
            rules=len(self._rules),
            not_evaluated=tuple(not_evaluated),
            accounts=_labeled_accounts(
                self._book.accounts(frame, self.history, active), self._labels
            ),
        )

    def _apply(
        self,
        rule: Rule,
        verdicts: Iterable[Verdict],
        frame: Frame,
        held: set[_Key],
        unknown: set[_Key],
    ) -> None:
        """Take up the rule's verdicts."""
        now = frame.monotonic_seconds
        for verdict in verdicts:
            if verdict.holds is False:
                continue
            key = (rule.id, verdict.subject.key)
            if verdict.holds is None:
                unknown.add(key)
                continue
            verdict = _labeled(self._placed(verdict, frame), self._labels)
            case = self._cases.get(key)
            if case is None:
                case = self._cases[key] = _Case(rule, verdict)
                if self._changes_cause(case):
                    case.counts_from = now
            case.cost(verdict, frame, self._book)
            case.hold(verdict, now)
            held.add(key)

    def _changes_cause(self, case: _Case) -> bool:
        """Another cause of the same job's standing still counts already. What only calms counts at once."""
        severity = case.verdict.severity or case.rule.severity
        return severity != _BASE and any(
            other.active and other is not case for other in self._rivals(case)
        )

    def _rivals(self, case: _Case) -> Iterator[_Case]:
        """The cases that tell another cause for the same job's standing still."""
        job = case.verdict.subject.job
        if not case.rule.about_waiting or job is None:
            return
        for other in self._cases.values():
            if other.rule.about_waiting and other.verdict.subject.job == job:
                yield other

    def _placed(self, verdict: Verdict, frame: Frame) -> Verdict:
        """With the job that was on a GPU before it fell silent: it may explain the job's findings.

        Where that was before the first frame, it is taken to be the only job of several ranks.
        """
        subject = verdict.subject
        if subject.gpu is None or subject.job is not None:
            return verdict
        gpu = frame.gpu(subject.gpu)
        if gpu is None or gpu.status == "ok":
            return verdict
        place = self._places.get(subject.gpu)
        if place is None:
            jobs = [job.id for job in frame.running if len(job.ranks) > 1]
            if len(jobs) != 1:
                return verdict
            place = (None, jobs[0])
        return replace(verdict, subject=replace(subject, rank=place[0], job=place[1]))

    def _looked(self, rule: Rule, scene: Scene) -> Sequence[Verdict]:
        """What the rule says now, or said a moment ago where that is enough."""
        standing = self._looks.standing(rule)
        return self._looks.keep(rule, self._verdicts(rule, scene)) if standing is None else standing

    def _verdicts(self, rule: Rule, scene: Scene) -> Sequence[Verdict]:
        try:
            return tuple(rule.judge(scene))
        except Exception as error:  # noqa: BLE001 - the edge where a broken rule ends, not the rest
            _log.exception("rule %s failed", rule.id)
            self.broken[rule.id] = f"{type(error).__name__}: {error}"
            return ()

    def _release(self, held: set[_Key], unknown: set[_Key], frame: Frame) -> None:
        """End the cases that no longer hold: pending ones at once, active ones after a while."""
        now = frame.monotonic_seconds
        for key in [key for key in self._cases if key not in held]:
            case = self._cases[key]
            last = _finding(case, frame) if case.active else None
            heirs = [each for each in self._rivals(case) if each.last_held == now]
            if case.active and any(not each.active for each in heirs):
                continue  # until the new cause counts, the old one stands
            if heirs or case.release(now, key in unknown):
                del self._cases[key]
                if last is not None:
                    self._cleared.append((now, _cleared(last, frame)))
        self._cleared = [
            (at, finding)
            for at, finding in self._cleared[-MOST_CLEARED:]
            if now - at < KEEP_CLEARED_SECONDS
        ]

    def _findings(self, frame: Frame) -> tuple[Finding, ...]:
        present = [_finding(case, frame) for case in self._cases.values()]
        gone = [finding for _, finding in reversed(self._cleared)]
        present.sort(key=_urgency)

        paths = {
            key: case.verdict.path
            for key, case in self._cases.items()
            if case.verdict.path is not None
        }
        waits_in = {key: case.verdict.waits_in for key, case in self._cases.items()}
        linked = with_causes(
            present, self._explains, self._job_wide, paths, self._only_in, waits_in, _final_urgency
        )
        return (*linked, *gone)

    def _forget(self) -> None:
        self.history.clear()
        self._book = AccountBook()
        self._looks = Looks()
        self._cases.clear()
        self._cleared.clear()
        self._places.clear()


def _labeled_accounts(
    accounts: tuple[Account, ...], labels: Mapping[str, str]
) -> tuple[Account, ...]:
    if not labels:
        return accounts
    return tuple(
        replace(each, subject=replace(each.subject, job_label=labels.get(each.subject.job or "")))
        for each in accounts
    )


def _labeled(verdict: Verdict, labels: Mapping[str, str]) -> Verdict:
    label = labels.get(verdict.subject.job or "")
    if label == verdict.subject.job_label:
        return verdict
    return replace(verdict, subject=replace(verdict.subject, job_label=label))


_Urgency = tuple[bool, int, bool, float, str, float]


def _urgency(finding: Finding) -> _Urgency:
    """What is about the whole host comes after what is about somebody in particular, and may wait for him.

    A price that stands for whatever else goes on at the same time chooses no cause.
    """
    return _order(finding, finding.price if finding.price.basis == "rule" else NO_PRICE)


def _final_urgency(finding: Finding) -> _Urgency:
    """The same with every price: of causes, whose symptoms are known."""
    return _order(finding, finding.price if finding.explained_by is None else NO_PRICE)


def _order(finding: Finding, price: Price) -> _Urgency:
    return (
        finding.state == "pending",
        SEVERITY_ORDER[finding.severity],
        finding.subject.kind == "host",
        -round(price.lost_ratio or 0.0, 1),  # coarse, so that what costs alike keeps its place
        finding.id,
        finding.since_seconds,
    )


def _cleared(finding: Finding, frame: Frame) -> Finding:
    return replace(finding, state="cleared", cleared_seconds=frame.time_seconds)


def _finding(case: _Case, frame: Frame) -> Finding:
    to_unix = frame.time_seconds - frame.monotonic_seconds
    verdict = case.verdict
    span = case.spans[_BASE]
    return Finding(
        id=case.rule.id,
        name=verdict.name or case.rule.name,
        short="" if verdict.name else case.rule.short,
        severity=case.severity,
        subject=verdict.subject,
        state=case.state,
        since_seconds=span.began + to_unix,
        seen_seconds=span.last_held - span.began,
        confidence=verdict.confidence,
        evidence=verdict.evidence,
        next_step=verdict.next_step or case.rule.next_step,
        price=case.price,
    )
