"""What is found about one GPU, with nothing cut: its row on the main screen has room for a few words."""

from __future__ import annotations

from ...rules.finding import Finding
from ..drawing import format
from ..drawing.finding_words import age_seconds, evidence_text, subject_text
from ..drawing.glyphs import DOT, FOLD
from ..drawing.lines import Line, LineBuilder, paragraph, plain
from ..drawing.severity_marks import severity_mark
from ..session.view import View

_BELOW = " " * 5


def gpu_finding_lines(view: View, index: int, width: int) -> list[Line]:
    """Each finding that counts, with its evidence and what to do; of a symptom, what explains it."""
    return [
        line
        for finding in view.judgement.active
        if finding.subject.gpu == index
        for line in _lines(view, finding, width)
    ]


def _lines(view: View, finding: Finding, width: int) -> list[Line]:
    cause = finding.explained_by
    mark, role = (FOLD, "rule") if cause else severity_mark(finding.severity)
    line = LineBuilder(width).gap().add(f"{mark} ", role).add(f"{finding.id} ", "dim")
    line.add(finding.name, "text" if cause else role)
    line.add(f"  {subject_text(finding.subject)}", "strong")
    line.add(f"  {format.duration(age_seconds(finding, view.frame.time_seconds))}", "dim")
    if cause is not None:
        said = f"{cause.id}, {subject_text(cause.subject)}"
        return [line.line(), *paragraph(said, width, first=f"{_BELOW}explained by ")]
    evidence = f" {DOT} ".join(map(evidence_text, finding.evidence))
    lines = [line.line(), *paragraph(plain(evidence), width, first=_BELOW)]
    return [*lines, *paragraph(plain(finding.next_step), width, first=f"{_BELOW}next: ")]
