"""Makes one side of a comparison of samples: judged as they would be live, and added up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ....probes.derive.cache import DeriveCache
from ....probes.derive.frame import derive
from ....probes.model.frame import Frame
from ....probes.model.link_frames import LinkKind
from ....probes.model.sample import Sample
from ....rules.account.watch import WatchAccounts
from ....rules.catalogue import make_rules
from ....rules.engine import Engine
from ....rules.finding import SEVERITY_ORDER, Account, Finding, Judgement, NotEvaluated, Severity
from ...drawing.finding_words import subject_text
from .job_times import JobTimes
from .means import Means
from .side import FindingSide, GpuSide, JobSide, LinkSide, Side

_GPU_MEANS = ("utilization_ratio", "power_watts", "memory_used_bytes")
_CLOCK = "sm_clock_hertz"
_LINK_RATES = ("rx_bytes_per_second", "tx_bytes_per_second")
_LIMIT = "limit_bytes_per_second"
_LONGEST_GAP_SECONDS = 15.0
"""A recording that was thinned has a sample every ten seconds; longer than that, nothing was recorded."""


@dataclass
class _Found:
    """What one rule said so far."""

    name: str
    severity: Severity
    subjects: dict[str, None] = field(default_factory=dict[str, None])
    seconds: float = 0.0
    until: float = 0.0
    """Unix time at which it was last seen to hold."""

    def hold(self, since: float, now: float) -> None:
        """It holds now: from when it began on, for what lasts counts only after a while."""
        self.seconds += max(0.0, now - max(since, self.until))
        self.until = now


class Gatherer:
    """Feed it samples in order, `side` tells what came of them.

    Args:
        begin_seconds: Unix time at which the span begins; what is before is judged, and counts for nothing else.
        thresholds: of the rules, other than the catalogue's.
    """

    def __init__(
        self, begin_seconds: float, thresholds: Mapping[str, Mapping[str, float]] | None = None
    ) -> None:
        self._begin = begin_seconds
        self._engine = Engine(make_rules(thresholds))
        self._cache = DeriveCache()
        self._before: Frame | None = None
        self._first: Frame | None = None
        self._frame: Frame | None = None
        self._watch = WatchAccounts()
        self._means = Means()
        self._jobs: dict[str, JobTimes] = {}
        self._found: dict[str, _Found] = {}
        self._unlooked: dict[str, NotEvaluated] | None = None
        self._gpu_names: dict[int, str | None] = {}
        self._links: dict[str, LinkKind] = {}
        self._accounts: dict[str, Account] = {}
        self._seconds = 0.0
        self.samples = 0

    def add(self, sample: Sample) -> None:
        """Take up the next one."""
        frame = derive(self._before, sample, self._cache)
        self._before = frame
        judgement = self._engine.judge(frame)
        if frame.time_seconds < self._begin:
            return
        passed = 0.0
        if self._frame is not None:
            # Of what lies within a gap nobody knows anything.
            passed = frame.monotonic_seconds - self._frame.monotonic_seconds
            passed = passed if 0 < passed <= _LONGEST_GAP_SECONDS else 0.0
            running = {job.id for job in frame.running}
            if any(job.id not in running for job in self._frame.running):
                self._keep_accounts(self._watch.accounts(self._frame))
        self._first = self._first or frame
        self._frame = frame
        self._seconds += passed
        self.samples += 1
        self._watch.add(frame, judgement.active, self._engine.history.stuck)
        self._add_jobs(frame)
        weight = passed or frame.interval_seconds
        self._add_gpus(frame, weight)
        self._add_links(frame, weight)
        self._add_findings(judgement)

    def side(self, source: str, unreadable: Sequence[str] = ()) -> Side | None:
        """All of it; ``None`` where no sample came."""
        first, last = self._first, self._frame
        if first is None or last is None:
            return None
        accounts = list(self._watch.accounts(last))
        self._keep_accounts(accounts)
        return Side(
            source=source,
            node=last.node,
            driver_version=last.driver_version,
            first_timestamp_seconds=first.time_seconds,
            last_timestamp_seconds=last.time_seconds,
            samples=self.samples,
            seen_duration_seconds=self._seconds,
            unreadable=tuple(unreadable),
            gpus=tuple(self._gpu(index) for index in sorted(self._gpu_names)),
            links=tuple(map(self._link, self._links)),
            jobs=tuple(map(self._job, self._jobs.values())),
            ledger_ratios=_shares(each for each in accounts if _is_of_node(each)),
            findings=tuple(self._finding(rule, found) for rule, found in self._found.items()),
            rules_not_evaluated=tuple((self._unlooked or {}).values()),
        )

    def _add_jobs(self, frame: Frame) -> None:
        begin = frame.monotonic_seconds - (frame.time_seconds - self._begin)
        for job in frame.running:
            self._jobs.setdefault(job.name, JobTimes(job.name)).add(job, frame, begin)

    def _keep_accounts(self, accounts: Iterable[Account]) -> None:
        """A job's is told only while it runs: the last one stays."""
        for each in accounts:
            if each.subject.kind == "job" and each.window == "watch":
                self._accounts[each.subject.id] = each

    def _add_gpus(self, frame: Frame, weight: float) -> None:
        for gpu in frame.gpus:
            self._gpu_names.setdefault(gpu.index, gpu.name)
            if gpu.status != "ok":
                continue
            for name in _GPU_MEANS:
                self._means.add((gpu.index, name), getattr(gpu, name), weight)
            work = gpu.utilization_ratio if gpu.utilization_ratio is not None else 1.0
            self._means.add((gpu.index, _CLOCK), gpu.sm_clock_hertz, weight * work)

    def _add_links(self, frame: Frame, weight: float) -> None:
        for link in frame.links:
            self._links[link.id] = link.kind
            for name in (*_LINK_RATES, _LIMIT):
                self._means.add((link.id, name), getattr(link, name), weight)

    def _add_findings(self, judgement: Judgement) -> None:
        by_rule: dict[str, list[Finding]] = {}
        for finding in judgement.active:
            by_rule.setdefault(finding.id, []).append(finding)
        for rule, findings in by_rule.items():
            worst = min(findings, key=lambda each: SEVERITY_ORDER[each.severity])
            found = self._found.setdefault(rule, _Found(worst.name, worst.severity))
            if SEVERITY_ORDER[worst.severity] < SEVERITY_ORDER[found.severity]:
                found.name, found.severity = worst.name, worst.severity
            found.subjects |= dict.fromkeys(subject_text(each.subject) for each in findings)
            since = min(each.since_seconds for each in findings)
            first = self._first or judgement.frame
            found.hold(max(since, first.time_seconds), judgement.frame.time_seconds)
        unlooked = {each.id: each for each in judgement.not_evaluated}
        before = self._unlooked
        self._unlooked = (
            unlooked
            if before is None
            else {rule: why for rule, why in before.items() if rule in unlooked}
        )

    def _gpu(self, index: int) -> GpuSide:
        means = {name: self._means.of((index, name)) for name in (*_GPU_MEANS, _CLOCK)}
        return GpuSide(index=index, name=self._gpu_names[index], **means)

    def _link(self, link: str) -> LinkSide:
        rates = {name: self._means.of((link, name)) for name in _LINK_RATES}
        limit = self._means.most((link, _LIMIT))
        return LinkSide(id=link, kind=self._links[link], limit_bytes_per_second=limit, **rates)

    def _job(self, times: JobTimes) -> JobSide:
        accounts = [each for id, each in self._accounts.items() if id in times.ids]
        return times.side(_shares(accounts))

    def _finding(self, rule: str, found: _Found) -> FindingSide:
        return FindingSide(
            id=rule,
            name=found.name,
            severity=found.severity,
            subjects=tuple(found.subjects),
            active_ratio=min(1.0, found.seconds / self._seconds) if self._seconds else 1.0,
        )


def _is_of_node(account: Account) -> bool:
    return account.subject.kind == "node" and account.window == "watch"


def _shares(accounts: Iterable[Account]) -> dict[str, float]:
    """Of each entry in all of the time, the largest first."""
    spent: dict[str, float] = {}
    for account in accounts:
        for name, entry in account.entries.items():
            spent[name] = spent.get(name, 0.0) + entry.seconds
    whole = sum(spent.values())
    ordered = sorted(spent.items(), key=lambda pair: -pair[1])
    return {name: seconds / whole for name, seconds in ordered} if whole > 0 else {}
