"""The same finding on many subjects, told once: eight waiting GPUs are one line, not eight."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .finding import Finding


@dataclass
class FindingGroup:
    """Findings of one rule, in one state, with one cause."""

    findings: list[Finding]
    """Most urgent first, at least one."""
    depth: int = 0
    """0: a cause, or on its own; 1: its symptom; 2: a symptom of that…"""
    symptoms: list[FindingGroup] = field(default_factory=list["FindingGroup"])

    @property
    def lead(self) -> Finding:
        """The one that speaks for all."""
        return self.findings[0]


def group(findings: Iterable[Finding]) -> tuple[FindingGroup, ...]:
    """The groups, causes first, each followed by its symptoms.

    Args:
        findings: in the order of a `Judgement`, where a cause stands before its symptoms.
    """
    tops: list[FindingGroup] = []
    of_finding: dict[tuple[object, ...], FindingGroup] = {}
    by_key: dict[tuple[object, ...], FindingGroup] = {}
    for finding in findings:
        cause = finding.explained_by
        above = of_finding.get((cause.id, cause.subject.key)) if cause else None
        key = (id(above), finding.id, finding.state, finding.severity, finding.subject.kind)
        member = by_key.get(key)
        if member is None:
            member = by_key[key] = FindingGroup([], depth=above.depth + 1 if above else 0)
            (above.symptoms if above else tops).append(member)
        member.findings.append(finding)
        of_finding.setdefault((finding.id, finding.subject.key), member)
    return tuple(each for top in tops for each in _flat(top))


def _flat(top: FindingGroup) -> Iterator[FindingGroup]:
    yield top
    for symptom in top.symptoms:
        yield from _flat(symptom)
