"""Findings on the main screen: causes with their numbers, symptoms folded under them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...rules.finding import Finding
from .. import format
from ..glyphs import CLEARED, DOT, FOLD, MORE_BELOW, SELECTED
from ..lines import Line, LineBuilder, left, width_of
from ..view import Block, View, finding_target
from .evidence import age_seconds, evidence_text, same_kind_text, subject_text
from .marks import severity_mark


class Cause(NamedTuple):
    """A finding that no other explains, with those that it explains."""

    finding: Finding
    symptoms: list[Finding]


def causes(findings: Sequence[Finding]) -> list[Cause]:
    """The findings as a forest of two levels, in their order."""
    keys = {(finding.id, finding.subject.key): finding for finding in findings}
    roots: dict[tuple[str, tuple[str, str]], Cause] = {}
    for finding in findings:
        root = _root(finding, keys)
        key = (root.id, root.subject.key)
        cause = roots.setdefault(key, Cause(root, []))
        if root is not finding:
            cause.symptoms.append(finding)
    return list(roots.values())


def finding_block(view: View, width: int, rows: int) -> Block:
    """As much about each finding as ``rows`` lines have room for."""
    if rows <= 0:
        return Block.of([])
    found = causes(view.findings("active"))
    if not found:
        return Block.of([_nothing(view, width)])
    chosen = [_block(view, cause, width, 1) for cause in found]
    for detail in (3, 2):
        blocks = [_block(view, cause, width, detail) for cause in found]
        if sum(len(block.lines) for block in blocks) <= rows:
            chosen = blocks
            break
    block = Block.of([])
    for at, part in enumerate(chosen):
        left_out = len(chosen) - at
        if len(block.lines) + len(part.lines) > rows - (1 if left_out > 1 else 0):
            if len(block.lines) + len(part.lines) > rows or left_out > 1:
                more = LineBuilder(width).add(f" {MORE_BELOW} {left_out} more: press 6", "dim")
                return block + Block.of([more.line()])
        block = block + part
    return block


def wanted_rows(view: View, width: int) -> int:
    """How many lines everything about the findings would take."""
    found = causes(view.findings("active"))
    return sum(len(_block(view, cause, width, 3).lines) for cause in found) or 1


def _root(finding: Finding, keys: dict[tuple[str, tuple[str, str]], Finding]) -> Finding:
    seen: set[int] = set()
    while finding.explained_by is not None and id(finding) not in seen:
        seen.add(id(finding))
        cause = keys.get((finding.explained_by.id, finding.explained_by.subject.key))
        if cause is None:
            break
        finding = cause
    return finding


def _block(view: View, cause: Cause, width: int, detail: int) -> Block:
    finding = cause.finding
    lines = [_headline(view, finding, width, detail)]
    if detail >= 2:
        lines += _below(cause, width, detail)
    return Block.of(lines, [finding_target(finding)])


def _headline(view: View, finding: Finding, width: int, detail: int) -> Line:
    mark, role = severity_mark(finding.severity)
    chosen = view.selected == finding_target(finding)
    wide = width >= 100
    line = LineBuilder(width).add(SELECTED if chosen else " ", "key")
    line.add(f"{mark} ", role).add(f"{finding.id:<6} ", "dim")
    line.add(left(finding.name, 26 if wide else 20), role).gap()
    line.add(left(subject_text(finding.subject), 12 if wide else 7), "strong").gap()
    age = age_seconds(finding, view.frame.time_seconds)
    line.add(left(format.duration(age) if wide else format.short_duration(age), 6 if wide else 3))
    return line.gap(2 if wide else 1).add(_evidence(finding)).line()


def _evidence(finding: Finding) -> str:
    return f" {DOT} ".join(evidence_text(evidence) for evidence in finding.evidence)


def _below(cause: Cause, width: int, detail: int) -> list[Line]:
    """What it explains, and what to do."""
    lines: list[Line] = []
    explained = _explained(cause.symptoms)
    if explained:
        line = LineBuilder(width).add(f"   {FOLD} ", "rule").add("explains: ", "dim")
        lines.append(line.add(explained).line())
    if detail >= 3 and cause.finding.next_step:
        lead = "     next: "
        if lines and width_of(explained) + len(cause.finding.next_step) + 30 < width:
            text = LineBuilder(width).add(f"   {FOLD} ", "rule").add("explains: ", "dim")
            text.add(explained).add(lead, "dim").add(cause.finding.next_step)
            return [text.line()]
        lines.append(LineBuilder(width).add(lead, "dim").add(cause.finding.next_step).line())
    return lines


def _explained(symptoms: Sequence[Finding]) -> str:
    kinds: dict[str, list[Finding]] = {}
    for symptom in symptoms:
        kinds.setdefault(symptom.id, []).append(symptom)
    return f" {DOT} ".join(same_kind_text(findings) for findings in kinds.values())


def _nothing(view: View, width: int) -> Line:
    line = LineBuilder(width).gap()
    pending = len(view.findings("pending"))
    if view.filter and view.judgement.active:
        return line.add(f"no finding matches {view.filter!r}", "dim").line()
    line.add(f"{CLEARED} nothing found", "good")
    if pending:
        line.add(f" {DOT} {pending} under watch: press 6", "dim")
    return line.line()
