"""Findings on the main screen: causes with their numbers, symptoms folded under them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...rules.finding import SEVERITY_ORDER, Evidence, Finding, Severity
from ...rules.job_labels import CELLS
from ..drawing import format
from ..drawing.finding_words import (
    age_seconds,
    evidence_text,
    explained_text,
    name_within,
    price_text,
    subjects_text,
    sureness_text,
    unseen_seconds,
)
from ..drawing.glyphs import DOT, ELLIPSIS, FOLD, MORE_BELOW, SELECTED
from ..drawing.lines import Line, LineBuilder, left, paragraph, plain, whole_parts, width_of
from ..drawing.severity_marks import severity_mark
from ..drawing.target import Block, finding_target
from ..session.view import View
from .no_findings import nothing_line

_WIDE = 100
_ENDLESS = 1000
"""Lines of so many cells are not for a screen: nothing is cut in them, and each thing has its own."""
_LINK = f" {DOT} "
_NEXT = "     next: "
_LINKS = width_of(_NEXT) + width_of("   └ explains: ")


class Cause(NamedTuple):
    """Findings of one rule that no other explains, with those that they explain."""

    findings: list[Finding]
    symptoms: list[Finding]

    @property
    def first(self) -> Finding:
        """The most urgent of them."""
        return self.findings[0]


def causes(findings: Sequence[Finding]) -> list[Cause]:
    """The findings as a forest of two levels, in their order; the same thing on several is one."""
    keys = {(finding.id, finding.subject.key): finding for finding in findings}
    roots: dict[tuple[str, str, str], Cause] = {}
    for finding in findings:
        root = _root(finding, keys)
        cause = roots.setdefault((root.id, root.severity, root.state), Cause([], []))
        (cause.findings if root is finding else cause.symptoms).append(finding)
    return [cause for cause in roots.values() if cause.findings]


def cause_counts(found: Sequence[Cause]) -> dict[Severity, int]:
    """How many of each severity, the worst first: what every screen means by so many errors."""
    counts = dict.fromkeys(SEVERITY_ORDER, 0)
    for cause in found:
        counts[cause.findings[0].severity] += 1
    return counts


def finding_block(view: View, found: Sequence[Cause], width: int, rows: int) -> Block:
    """As much about each cause as ``rows`` lines have room for."""
    if not found:
        return Block.of([nothing_line(view, width)])
    detail = next((detail for detail in (4, 3, 2) if wanted_rows(found, width, detail) <= rows), 1)
    if detail == 1 and len(found) > rows:
        shown = found[: rows - 1]
        more = LineBuilder(width).add(
            f" {MORE_BELOW} {len(found) - len(shown)} more: press 6", "dim"
        )
        return _reported(view, shown, width, 1) + Block.of([more.line()])
    return _reported(view, found, width, detail)


def wanted_rows(found: Sequence[Cause], width: int, detail: int = 4) -> int:
    """How many lines the causes take at a level of detail.

    Args:
        found: the causes.
        width: cells.
        detail: 1: themselves; 2: with their symptoms; 3: with a line on what to do; 4: with all of that.
    """
    rows = len(found) or 1
    for cause in found:
        if detail >= 2 and cause.symptoms:
            rows += 1
        if detail >= 3 and cause.first.next_step and not _fits_beside(cause, width):
            rows += len(_next_lines(cause, width)) if detail >= 4 else 1
    return rows


def _root(finding: Finding, keys: dict[tuple[str, tuple[str, str]], Finding]) -> Finding:
    seen: set[int] = set()
    while finding.explained_by is not None and id(finding) not in seen:
        seen.add(id(finding))
        cause = keys.get((finding.explained_by.id, finding.explained_by.subject.key))
        if cause is None:
            break
        finding = cause
    return finding


def _reported(view: View, found: Sequence[Cause], width: int, detail: int) -> Block:
    block = Block.of([])
    for cause in found:
        lines = [_headline(view, cause, width)]
        if detail >= 2:
            lines += _below(cause, width, detail)
        block = block + Block.of(lines, [finding_target(cause.first)])
    return block


def _headline(view: View, cause: Cause, width: int) -> Line:
    finding = cause.first
    mark, role = severity_mark(finding.severity)
    if finding.state == "pending":
        role = "dim"
    chosen = view.selected == finding_target(finding)
    wide = width >= _WIDE
    line = LineBuilder(width).add(SELECTED if chosen else " ", "key")
    line.add(f"{mark} ", role).add(f"{finding.id:<6} ", "dim")
    cells = 26 if wide else 20
    name = finding.name if width >= _ENDLESS else name_within(finding, cells)
    line.add(_cell(name, cells, width), role).gap()
    labeled = any(each.subject.job_label for each in view.judgement.active)
    who = (12 if wide else 7) + (CELLS if labeled else 0)
    line.add(_cell(subjects_text(cause.findings), who, width), "strong").gap()
    if finding.state == "pending":
        line.add("pending", "strong")
    else:
        age = age_seconds(finding, view.frame.time_seconds)
        shown = format.duration(age) if wide else format.short_duration(age)
        line.add(left(shown, 6 if wide else 3))
    line.gap(2 if wide else 1)
    unseen = unseen_seconds(finding, view.frame)
    if unseen:
        line.add(f"not seen for {format.duration(unseen)} {DOT} ", "dim")
    _add_doubts_and_price(line, finding)
    _add_evidence(line, finding.evidence)
    return line.line()


def _add_doubts_and_price(line: LineBuilder, finding: Finding) -> None:
    """How sure it is and what it costs, each unless that would cut the first of what proves it."""
    first = evidence_text(finding.evidence[0]) if finding.evidence else ""
    for text, role in (
        (sureness_text(finding), "warm"),
        (price_text(finding, whole=False), "strong"),
    ):
        if text and len(text) + len(_LINK) + width_of(first) <= line.room:
            line.add(text, role).add(_LINK if first else "", "dim")


def _add_evidence(line: LineBuilder, evidence: Sequence[Evidence]) -> None:
    """Each whole, as many as have room; an ellipsis stands for the others."""
    for at, each in enumerate(evidence):
        text = evidence_text(each)
        more = len(_LINK) + 1 if at + 1 < len(evidence) else 0
        if at and len(_LINK) + width_of(text) + more > line.room:
            line.add(_LINK + ELLIPSIS, "dim")
            return
        line.add(_LINK if at else "", "dim").add(text)


def _cell(text: str, cells: int, width: int) -> str:
    return text.ljust(cells) if width >= _ENDLESS else left(text, cells)


def _below(cause: Cause, width: int, detail: int) -> list[Line]:
    """What it explains, and what to do."""
    lines: list[Line] = []
    beside = _fits_beside(cause, width)
    if cause.symptoms:
        line = LineBuilder(width).add(f"   {FOLD} ", "rule").add("explains: ", "dim")
        line.add(whole_parts(explained_text(cause.symptoms), line.room))
        if detail >= 3 and beside:
            line.add(_NEXT, "dim").add(cause.first.next_step)
        lines.append(line.line())
    if detail >= 3 and cause.first.next_step and not beside:
        wrapped = detail >= 4 and width < _ENDLESS
        lines += _next_lines(cause, width) if wrapped else [_next_line(cause, width)]
    return lines


def _next_line(cause: Cause, width: int) -> Line:
    return LineBuilder(width).add(_NEXT, "dim").add(cause.first.next_step).line()


def _next_lines(cause: Cause, width: int) -> list[Line]:
    return paragraph(plain(cause.first.next_step), width, first=_NEXT)


def _fits_beside(cause: Cause, width: int) -> bool:
    """Whether the next step has room on the line of the symptoms."""
    if not cause.symptoms or width >= _ENDLESS:
        return False
    return width_of(explained_text(cause.symptoms)) + len(cause.first.next_step) + _LINKS < width
