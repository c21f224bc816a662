"""Which finding explains which: causes stay, their symptoms fold under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from .finding import Finding, FindingRef, Subject

_EVERYWHERE = frozenset({"host", "node"})


def with_causes(
    findings: Sequence[Finding], explains: Mapping[str, tuple[str, ...]]
) -> tuple[Finding, ...]:
    """The same findings, linked, each symptom directly after its cause.

    Args:
        findings: most urgent first.
        explains: rule id → ids of the rules whose findings it may explain.
    """
    cause_of: dict[int, int] = {}
    for number, symptom in enumerate(findings):
        for other, cause in enumerate(findings):
            if _may_explain(cause, symptom, explains) and not _leads_to(other, number, cause_of):
                cause_of[number] = other
                break
    linked = [
        msgspec.structs.replace(
            finding,
            explains=tuple(_ref(findings[s]) for s, c in cause_of.items() if c == number),
            explained_by=_ref(findings[cause_of[number]]) if number in cause_of else None,
        )
        for number, finding in enumerate(findings)
    ]
    return tuple(linked[number] for number in _causes_first(len(findings), cause_of))


def _may_explain(cause: Finding, symptom: Finding, explains: Mapping[str, tuple[str, ...]]) -> bool:
    # A pending cause explains nothing yet: it may never come to count.
    return (
        cause.state == "active"
        and symptom.id in explains.get(cause.id, ())
        and _related(cause.subject, symptom.subject)
    )


def _related(cause: Subject, symptom: Subject) -> bool:
    if cause.kind in _EVERYWHERE or cause.key == symptom.key:
        return True
    if cause.gpu is not None and cause.gpu == symptom.gpu:
        return True
    return cause.job is not None and cause.job == symptom.job


def _leads_to(start: int, goal: int, cause_of: Mapping[int, int]) -> bool:
    """Whether ``goal`` is already a cause, near or far, of ``start``: no circles."""
    number: int | None = start
    while number is not None:
        if number == goal:
            return True
        number = cause_of.get(number)
    return False


def _causes_first(count: int, cause_of: Mapping[int, int]) -> list[int]:
    order: list[int] = []

    def place(number: int) -> None:
        order.append(number)
        for symptom, cause in cause_of.items():
            if cause == number:
                place(symptom)

    for number in range(count):
        if number not in cause_of:
            place(number)
    return order


def _ref(finding: Finding) -> FindingRef:
    return FindingRef(id=finding.id, subject=finding.subject)
