"""A finding as Markdown, to be pasted into a ticket."""

from __future__ import annotations

from ...probes.model.frame import Frame
from ...rules.finding import Finding
from ..drawing import format
from ..drawing.finding_words import evidence_text, price_line, subject_text, symptoms_of
from ..drawing.lines import plain_text


def finding_markdown(finding: Finding, frame: Frame, others: tuple[Finding, ...] = ()) -> str:
    """Title, evidence, symptoms and next step."""
    since = format.clock(finding.since_seconds)
    lasted = format.duration(frame.time_seconds - finding.since_seconds)
    lines = [
        f"### {finding.id} {finding.name}: {subject_text(finding.subject)} on {frame.node}",
        "",
        f"{finding.severity}, {finding.state}, since {since} ({lasted})",
        "",
        *[f"- {price}" for price in [price_line(finding)] if price],
        *[f"- {evidence_text(evidence)}" for evidence in finding.evidence],
    ]
    symptoms = symptoms_of(finding, others)
    if symptoms:
        lines += ["", "Explains:", ""]
        lines += [f"- {other.id} {other.name}, {subject_text(other.subject)}" for other in symptoms]
    if finding.next_step:
        lines += ["", f"Next: {finding.next_step}"]
    return plain_text(lines) + "\n"
