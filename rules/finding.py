"""What a rule says about a subject: the judgement's own words, frozen, ready to be shown or sent."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..probes.model.frame import Frame
from ..probes.model.vocabulary import Origin

Severity = Literal["info", "warning", "error"]
SEVERITY_ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "info": 2}

SubjectKind = Literal["gpu", "link", "rank", "job", "process", "cgroup", "host", "node"]
FindingState = Literal["pending", "active", "cleared"]
AccountWindow = Literal["last minute", "watch"]
PriceBasis = Literal["rule", "account", "symptom", ""]


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """Who or what a finding is about."""

    kind: SubjectKind
    id: str
    """Names it among its kind, and stays the same for its life."""
    rank: int | None = None
    gpu: int | None = None
    """NVML index of the GPU concerned, where there is one."""
    job: str | None = None
    job_label: str | None = None
    """Short name of that job, where several jobs are here: ranks of the same number are told apart by it."""

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same subject from frame to frame."""
        return (self.kind, self.id)


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One number (or word) that proves the finding."""

    signal: str
    """Its name for programs: the field of the frame it was read from; of a derived one a name like those
    of fields, with the unit at its end."""
    label: str = ""
    """For people, where the name does not make good words (`signal_named`)."""
    value: float | str | None
    threshold: float | None = None
    unit: str = ""
    """SI base unit or ``ratio``: bytes, bytes_per_second, seconds, watts, hertz, celsius, cores…"""
    comparison: Literal["≥", "≤", ">", "<", "≠", "against", ""] = ""
    """How value stands to threshold; ``against``: the threshold is the median of its peers."""
    origin: Origin = "measured"
    mean_seconds: float | None = None
    """The value is a mean over so long; ``None``: it is of this moment."""


def compared(
    signal: str,
    value: float | None,
    threshold: float | None,
    unit: str,
    *,
    label: str = "",
    origin: Origin = "measured",
    mean_seconds: float | None = None,
) -> Evidence:
    """A number beside its limit, with the sign that is true of them."""
    comparison: Literal["≥", "<", ""] = ""
    if value is not None and threshold is not None:
        comparison = "≥" if value >= threshold else "<"
    return Evidence(
        signal=signal,
        label=label,
        value=value,
        threshold=threshold,
        unit=unit,
        comparison=comparison,
        origin=origin,
        mean_seconds=mean_seconds,
    )


def against_peers(
    signal: str,
    value: float | None,
    peers: float | None,
    unit: str,
    *,
    label: str = "",
    mean_seconds: float | None = None,
) -> Evidence:
    """A number beside the median of its peers."""
    return Evidence(
        signal=signal,
        label=label,
        value=value,
        threshold=peers,
        unit=unit,
        comparison="against",
        mean_seconds=mean_seconds,
    )


class WaitPath(msgspec.Struct, frozen=True):
    """Where a finding lies in the graph of who waits for whom."""

    waiters: frozenset[int] = frozenset()
    """Ranks of its job whose paths lead to it."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule thinks of one subject in one frame."""

    subject: Subject
    holds: bool | None
    """``None``: unknown, since something needed is missing."""
    evidence: tuple[Evidence, ...] = ()
    severity: Severity | None = None
    """Where it differs from the rule's."""
    confidence: float = 1.0
    """From 0 to 1: how sure the rule is, confounders weighed."""
    since_monotonic_seconds: float | None = None
    """When the condition began, where the evidence tells: it counts towards hold-down."""
    name: str | None = None
    """Where the rule's would be wrong, as the next one."""
    next_step: str | None = None
    """Where it is more precise than the rule's."""
    unknown_because: str = ""
    path: WaitPath | None = None
    """Where it is about waiting: then it explains what lies on the way to it, and nothing else."""
    waits_in: frozenset[str] = frozenset()
    """What its subject's path goes through: ``pipe``, ``network``, ``collective``…; empty: it is not about
    waiting. A rule that says in what it brings about waits explains none in other things."""
    unavailable: str = ""
    """Why a signal that the rule needs is missing: then it is not evaluated, not only undecided."""
    lost_ratio: float | None = None
    """Share of its subject's time, and of those who wait for it, that would be won if it went away;
    ``None``: then the entries of the account that its rule names in ``costs`` say."""
    lost_origin: Origin = "measured"
    """How that share is known."""
    payers: frozenset[int] = frozenset()
    """Ranks whose time it takes beside its own subject's, where the path does not say so."""


class NotEvaluated(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that cannot look, so that its silence says nothing."""

    id: str
    name: str
    reason: str
    """Why what it needs is missing, as the source says it."""


class FindingRef(msgspec.Struct, frozen=True, kw_only=True):
    """Points at another finding."""

    id: str
    subject: Subject


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """What would be won if a finding went away."""

    lost_ratio: float | None = None
    """Share of the time of those who pay; ``None``: ``reason`` says why nobody can say."""
    lost_gpu_seconds: float | None = None
    """The same over the time for which it has been seen, of all GPUs that it costs."""
    origin: Origin | None = None
    """How it is known."""
    basis: PriceBasis = ""
    """Worked out by its rule, read from the account of its subject, or that of its most expensive symptom."""
    reason: str = ""
    """Why it cannot be priced."""


NO_PRICE = Price(reason="nothing that is read tells how much time it takes")


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict that has lasted, with its place among the others."""

    id: str
    """Of the rule."""
    name: str
    severity: Severity
    subject: Subject
    state: FindingState
    since_seconds: float
    """Unix time at which the condition began."""
    seen_seconds: float
    """For how long it has been seen to hold."""
    cleared_seconds: float | None = None
    """Unix time at which it was found gone."""
    confidence: float = 1.0
    evidence: tuple[Evidence, ...] = ()
    explains: tuple[FindingRef, ...] = ()
    """Its symptoms among the present findings."""
    explained_by: FindingRef | None = None
    """Its cause among the present findings: show it under that one."""
    next_step: str = ""
    short: str = ""
    """The name for a row of a table, where that itself is too long for one."""
    price: Price = NO_PRICE
    """What would be won if it went away."""

    @property
    def lost_ratio(self) -> float | None:
        """Share of the time; ``None``: nobody can say."""
        return self.price.lost_ratio

    @property
    def lost_gpu_seconds(self) -> float | None:
        """So far."""
        return self.price.lost_gpu_seconds

    @property
    def is_pending_cause(self) -> bool:
        """It is pending and would be news: a symptom of what is active already is none."""
        return self.state == "pending" and self.explained_by is None


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """Time that went to one thing."""

    seconds: float
    origin: Origin
    """How that is known."""


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """Where somebody's time went: the entries sum to the whole that was seen."""

    subject: Subject
    """Whose time."""
    pid: int | None = None
    """Of a rank."""
    window: AccountWindow = "last minute"
    seconds: float
    """How much of the window was seen; of a job that of all its GPUs (ranks, where they are on none)."""
    entries: dict[str, Entry] = {}
    """By the names of ``account.entries``; and phases that the user named."""
    since_seconds: float | None = None
    """Of a whole watch: Unix time at which its subject was first seen."""
    unseen_seconds: float | None = None
    """Of a whole watch: time that passed meanwhile without being read. It is in no entry."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """A frame and everything that the rules say of it, most urgent first, causes before symptoms."""

    frame: Frame
    findings: tuple[Finding, ...] = ()
    """Pending, active, and the cleared ones of the last ten minutes."""
    rules: int = 0
    """How many there are."""
    not_evaluated: tuple[NotEvaluated, ...] = ()
    """Those that cannot look now, on all or on some of what they are about."""
    accounts: tuple[Account, ...] = ()
    """Where the time of each rank, GPU and job went, in the last minute and since the watch began."""

    def accounts_of(self, kind: SubjectKind, window: AccountWindow) -> tuple[Account, ...]:
        """Those of one kind over one time."""
        return tuple(
            each for each in self.accounts if each.window == window and each.subject.kind == kind
        )

    def watch_of(self, kind: SubjectKind, name: str) -> Account | None:
        """Of one subject since the watch of it began."""
        found = (each for each in self.accounts_of(kind, "watch") if each.subject.id == name)
        return next(found, None)

    @property
    def minutes(self) -> tuple[Account, ...]:
        """Of the ranks, for the last minute."""
        return self.accounts_of("rank", "last minute")

    @property
    def active(self) -> tuple[Finding, ...]:
        """Those that count."""
        return tuple(finding for finding in self.findings if finding.state == "active")

    @property
    def pending(self) -> tuple[Finding, ...]:
        """Those that hold, but not for long enough yet."""
        return tuple(finding for finding in self.findings if finding.state == "pending")

    @property
    def pending_causes(self) -> tuple[Finding, ...]:
        """Those that are."""
        return tuple(finding for finding in self.findings if finding.is_pending_cause)
