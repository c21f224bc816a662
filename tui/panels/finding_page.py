"""One finding in full: what to do, the evidence, its causes and symptoms, and the runbook."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ...probes.model.frame import Frame
from ...rules.finding import Finding
from ..drawing import format
from ..drawing.finding_words import (
    evidence_text,
    of_one_kind,
    price_line,
    same_kind_text,
    subject_text,
    sureness_text,
    symptoms_of,
)
from ..drawing.glyphs import DOT
from ..drawing.lines import Line, LineBuilder, blank, paragraph, plain, width_of
from ..drawing.severity_marks import severity_mark

_COMPARED = {"against": "median of its peers"}


def finding_page(
    finding: Finding, findings: Sequence[Finding], frame: Frame, width: int
) -> list[Line]:
    """The page, as long as it needs to be."""
    lines = [*_headline(finding, width), *_times(finding, frame, width), blank(width)]
    if finding.next_step:  # first: below long evidence it might be out of sight
        lines += [_title("Next", width), *_text(finding.next_step, width, "strong"), blank(width)]
    lines.append(_title("Evidence", width))
    for evidence in finding.evidence:
        lines += _item(evidence_text(evidence), width)
    if finding.explained_by is not None:
        cause = finding.explained_by
        text = f"{cause.id}, {subject_text(cause.subject)}"
        lines += [blank(width), _title("Explained by", width), *_text(text, width)]
    symptoms = symptoms_of(finding, findings)
    if symptoms:
        lines += [blank(width), _title("Explains", width)]
        for alike in of_one_kind(symptoms):
            lines += _item(f"{alike[0].id} {same_kind_text(alike)}", width)
    for title, text in sections_of(finding.id).items():
        lines += [blank(width), _title(title, width), *_text(text, width)]
    return lines


@lru_cache(32)
def sections_of(rule_id: str) -> dict[str, str]:
    """The parts of the rule's runbook."""
    from ...rules.runbook import UnknownRule, find, runbook

    try:
        return dict(runbook(find(rule_id)).sections)
    except UnknownRule:
        return {}


def _headline(finding: Finding, width: int) -> list[Line]:
    mark, role = severity_mark(finding.severity)
    line = LineBuilder(width).add(f"{mark} {finding.severity}  ", role)
    line.add(f"{finding.id} {finding.name}", "strong")
    subject = subject_text(finding.subject)
    if width_of(subject) + 2 <= line.room:
        return [line.add(f"  {subject}", "title").line()]
    return [line.line(), *paragraph(subject, width, "title")]


def _times(finding: Finding, frame: Frame, width: int) -> list[Line]:
    end = finding.cleared_seconds or frame.time_seconds
    parts = [
        finding.state,
        f"since {format.clock(finding.since_seconds)}",
        f"for {format.duration(end - finding.since_seconds)}",
    ]
    if finding.cleared_seconds is not None:
        parts.append(f"cleared at {format.clock(finding.cleared_seconds)}")
    parts.append(sureness_text(finding, below=1.0))
    lines = paragraph(f" {DOT} ".join(filter(None, parts)), width, "dim", first="")
    price = price_line(finding)
    role = "dim" if finding.lost_ratio is None else "strong"
    return [*lines, *(paragraph(plain(price), width, role, first="") if price else [])]


def _title(title: str, width: int) -> Line:
    return LineBuilder(width).add(title, "title").line()


def _item(text: str, width: int) -> list[Line]:
    return paragraph(plain(text), width, first=f"  {DOT} ")


def _text(text: str, width: int, role: str = "text") -> list[Line]:
    return paragraph(plain(text), width, role)
