"""Findings as Markdown, to be pasted into a ticket."""

from __future__ import annotations

from collections.abc import Sequence

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame
from ...rules.finding import Finding, Judgement
from ..drawing import format
from ..drawing.finding_words import (
    evidence_text,
    price_line,
    subject_text,
    symptoms_of,
    with_all_symptoms,
)
from ..drawing.lines import plain_text
from .diagnosis_text import closing_lines
from .rank_lines import ended_lines, rank_lines, without_ended


def diagnosis_markdown(
    judgement: Judgement, job: JobFrame | None, findings: Sequence[Finding], *, ended: str = ""
) -> str:
    """A whole diagnosis: the causes, most urgent first, each with its symptoms; then the ranks of the job.

    Args:
        judgement: what was seen last.
        job: the one that was asked about, or ``None``.
        findings: those to be reported.
        ended: that the process which was asked about has ended, or empty.
    """
    frame = judgement.frame
    what = frame.node if job is None else f"{job.name} on {frame.node}"
    sections = [f"## {what}, {format.clock(frame.time_seconds)}"]
    sections += [
        finding_markdown(finding, frame, tuple(findings)).rstrip("\n")
        for finding, _ in with_all_symptoms(findings)
    ]
    closing = closing_lines(judgement, job, findings, ended=ended)
    if closing:
        sections.append("\n".join(f"- {line.strip()}" for line in closing))
    if job is not None:
        lines = [*rank_lines(without_ended(job, frame)), *ended_lines(job, frame)]
        sections.append("\n".join(["```", *lines, "```"]))
    return plain_text("\n\n".join(sections).splitlines()) + "\n"


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
    found = with_all_symptoms(others)
    symptoms = next((all_ for first, all_ in found if first is finding), None)
    if symptoms is None:  # it is a symptom itself
        symptoms = symptoms_of(finding, others)
    if symptoms:
        lines += ["", "Explains:", ""]
        lines += [f"- {other.id} {other.name}, {subject_text(other.subject)}" for other in symptoms]
    if finding.next_step:
        lines += ["", f"Next: {finding.next_step}"]
    return plain_text(lines) + "\n"
