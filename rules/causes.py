"""Which finding explains which: causes stay, their symptoms fold under them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from .finding import SEVERITY_ORDER, Finding, FindingRef, Price, Subject, WaitPath

FindingKey = tuple[str, tuple[str, str]]
_NO_PATHS: Mapping[FindingKey, WaitPath] = {}
_NO_LIMITS: Mapping[str, Collection[str]] = {}
_NO_WAITS: Mapping[FindingKey, Collection[str]] = {}
_EVERYWHERE = frozenset({"host", "node"})
_WHOLE_JOB = frozenset({"job", "cgroup"})


def with_causes(
    findings: Sequence[Finding],
    explains: Mapping[str, tuple[str, ...]],
    job_wide: Collection[str] = (),
    paths: Mapping[FindingKey, WaitPath] = _NO_PATHS,
    only_in: Mapping[str, Collection[str]] = _NO_LIMITS,
    waits_in: Mapping[FindingKey, Collection[str]] = _NO_WAITS,
    urgency: Callable[[Finding], Any] | None = None,
) -> tuple[Finding, ...]:
    """The same findings, linked, each symptom directly after its cause.

    Args:
        findings: most urgent first.
        explains: rule id → ids of the rules whose findings it may explain.
        job_wide: ids of the rules whose findings may have their cause anywhere in their job.
        paths: of the findings that are about waiting: they explain what lies on the way to them.
        only_in: rule id → what a path must go through for that rule to explain what waits on it.
        waits_in: what the paths of those findings go through that are about waiting.
        urgency: sorts them anew once causes have the prices of their symptoms; ``None``: they stay.
    """
    causes = [
        number
        for number, finding in enumerate(findings)
        # A pending cause explains nothing yet: it may never come to count.
        if finding.state == "active" and explains.get(finding.id)
    ]
    cause_of: dict[int, int] = {}
    for number, symptom in enumerate(findings):
        for other in causes:
            cause = findings[other]
            limit = only_in.get(cause.id)
            if (
                _may_explain(cause, symptom, explains, job_wide, paths.get(key_of(cause)))
                and (limit is None or _depends_on(waits_in.get(key_of(symptom)), limit))
                and not _leads_to(other, number, cause_of)
            ):
                cause_of[number] = other
                break
    if not cause_of:
        return tuple(findings if urgency is None else sorted(findings, key=urgency))
    prices = _prices(findings, cause_of)
    linked = [
        msgspec.structs.replace(
            finding,
            explains=tuple(_ref(findings[s]) for s, c in cause_of.items() if c == number),
            explained_by=_ref(findings[cause_of[number]]) if number in cause_of else None,
            price=prices[number],
        )
        for number, finding in enumerate(findings)
    ]
    numbers: Sequence[int] = range(len(findings))
    if urgency is not None:
        numbers = sorted(numbers, key=lambda number: urgency(linked[number]))
    return tuple(linked[number] for number in _causes_first(numbers, cause_of))


def _prices(findings: Sequence[Finding], cause_of: Mapping[int, int]) -> list[Price]:
    """A cause whose rule has worked out no price costs what the most expensive of its symptoms does, and not their
    sum: they are the same time seen from several sides."""
    prices = [each.price for each in findings]
    for number in range(len(findings)):
        own, above = findings[number].price, cause_of.get(number)
        while above is not None and own.lost_ratio is not None:
            if findings[above].price.basis != "rule" and _dearer(own, prices[above]):
                prices[above] = msgspec.structs.replace(own, basis="symptom")
            above = cause_of.get(above)
    return prices


def _dearer(one: Price, other: Price) -> bool:
    if other.lost_ratio is None:
        return True
    costs = (one.lost_gpu_seconds or 0.0, one.lost_ratio or 0.0)
    return costs > (other.lost_gpu_seconds or 0.0, other.lost_ratio)


def _may_explain(
    cause: Finding,
    symptom: Finding,
    explains: Mapping[str, tuple[str, ...]],
    job_wide: Collection[str],
    path: WaitPath | None,
) -> bool:
    if symptom.id not in explains[cause.id]:
        return False
    urgency, other = SEVERITY_ORDER[cause.severity], SEVERITY_ORDER[symptom.severity]
    same_kind = cause.id == symptom.id
    if same_kind and urgency >= other:
        return False
    if cause.severity == "info" and urgency > other:
        return False  # what may be ignored is no reason for what may not
    if path is not None and symptom.subject.rank is not None:
        return _on_the_way(cause.subject, symptom.subject, path)
    return _related(cause.subject, symptom.subject, same_kind or symptom.id in job_wide)


def _on_the_way(cause: Subject, symptom: Subject, path: WaitPath) -> bool:
    """The symptom is of a rank that waits for the cause, or of the cause's own."""
    if cause.job is None or cause.job != symptom.job:
        return False
    return symptom.rank == cause.rank or symptom.rank in path.waiters


def _depends_on(through: Collection[str] | None, limit: Collection[str]) -> bool:
    """Whether its path goes through one of these; what is not about waiting has none."""
    return not through or any(each in limit for each in through)


def key_of(finding: Finding) -> FindingKey:
    """Names it among the findings of one moment."""
    return (finding.id, finding.subject.key)


def _related(cause: Subject, symptom: Subject, job_wide: bool) -> bool:
    if cause.kind in _EVERYWHERE or cause.key == symptom.key:
        return True
    if cause.gpu is not None and cause.gpu == symptom.gpu:
        return True
    if cause.job is None or cause.job != symptom.job:
        return False
    if cause.rank is not None and cause.rank == symptom.rank:
        return True  # a worker of that rank is on no GPU itself
    return job_wide or cause.kind in _WHOLE_JOB or symptom.kind in _WHOLE_JOB


def _leads_to(start: int, goal: int, cause_of: Mapping[int, int]) -> bool:
    """Whether ``goal`` is already a cause, near or far, of ``start``: no circles."""
    number: int | None = start
    while number is not None:
        if number == goal:
            return True
        number = cause_of.get(number)
    return False


def _causes_first(numbers: Sequence[int], cause_of: Mapping[int, int]) -> list[int]:
    """Each cause before its symptoms, at the place of the most urgent of them all."""
    symptoms: dict[int | None, list[int]] = {}
    order: list[int] = []

    def root(number: int) -> int:
        while number in cause_of:
            number = cause_of[number]
        return number

    def place(number: int) -> None:
        order.append(number)
        for symptom in symptoms.get(number, ()):
            place(symptom)

    for number in numbers:
        symptoms.setdefault(cause_of.get(number), []).append(number)
    for number in dict.fromkeys(map(root, numbers)):
        place(number)
    return order


def _ref(finding: Finding) -> FindingRef:
    return FindingRef(id=finding.id, subject=finding.subject)
