"""One finding in full: the evidence, its causes and symptoms, what to do, and the runbook."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import lru_cache

from ...probes.frame import Frame
from ...rules.finding import Evidence, Finding
from .. import format
from ..glyphs import DOT
from ..lines import Line, LineBuilder, blank, left, plain
from .evidence import evidence_text, subject_text
from .finding_lines import symptoms_of
from .marks import severity_mark

_COMPARED = {"against": "median of its peers"}


def finding_page(
    finding: Finding, findings: Sequence[Finding], frame: Frame, width: int
) -> list[Line]:
    """The page, as long as it needs to be."""
    lines = [_headline(finding, width), _times(finding, frame, width), blank(width)]
    lines.append(_title("Evidence", width))
    lines += [_evidence(evidence, width) for evidence in finding.evidence]
    if finding.explained_by is not None:
        cause = finding.explained_by
        text = f"{cause.id}, {subject_text(cause.subject)}"
        lines += [blank(width), _title("Explained by", width), _text(text, width)]
    symptoms = symptoms_of(finding, findings)
    if symptoms:
        lines += [blank(width), _title("Explains", width)]
        lines += [
            _text(f"{other.id} {other.name}, {subject_text(other.subject)}", width)
            for other in symptoms
        ]
    if finding.next_step:
        lines += [
            blank(width),
            _title("Next", width),
            *_wrapped(finding.next_step, width, "strong"),
        ]
    for title, text in sections_of(finding.id).items():
        lines += [blank(width), _title(title, width), *_wrapped(text, width)]
    return lines


@lru_cache(32)
def sections_of(rule_id: str) -> dict[str, str]:
    """The parts of the rule's runbook."""
    from ...rules.runbook import UnknownRule, find, runbook

    try:
        return dict(runbook(find(rule_id)).sections)
    except UnknownRule:
        return {}


def _headline(finding: Finding, width: int) -> Line:
    mark, role = severity_mark(finding.severity)
    line = LineBuilder(width).add(f"{mark} {finding.severity}  ", role)
    line.add(f"{finding.id} {finding.name}", "strong")
    return line.add(f"  {subject_text(finding.subject)}", "title").line()


def _times(finding: Finding, frame: Frame, width: int) -> Line:
    end = finding.cleared_seconds or frame.time_seconds
    parts = [
        finding.state,
        f"since {format.clock(finding.since_seconds)}",
        f"for {format.duration(end - finding.since_seconds)}",
    ]
    if finding.cleared_seconds is not None:
        parts.append(f"gone at {format.clock(finding.cleared_seconds)}")
    if finding.confidence < 1.0:
        parts.append(f"{finding.confidence * 100:.0f} % sure")
    return LineBuilder(width).add(f" {DOT} ".join(parts), "dim").line()


def _evidence(evidence: Evidence, width: int) -> Line:
    return LineBuilder(width).gap(2).add(f"{DOT} ", "dim").add(evidence_text(evidence)).line()


def _title(title: str, width: int) -> Line:
    return LineBuilder(width).add(title, "title").line()


def _text(text: str, width: int) -> Line:
    return LineBuilder(width).gap(2).add(plain(text)).line()


def _wrapped(text: str, width: int, role: str = "text") -> list[Line]:
    wrapped = textwrap.wrap(plain(text), max(10, width - 4))
    return [((left(f"  {part}", width), role),) for part in wrapped]
