"""Findings: why, how sure, and what now?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from ...rules.finding import Finding
from ..drawing import format
from ..drawing.explanations import Section, drawn_terms
from ..drawing.finding_words import LEAST_PRICE, age_seconds, subject_text
from ..drawing.glyphs import CLEARED, DOT, FOLD, SELECTED
from ..drawing.lines import Line, LineBuilder, blank, heading, left, paragraph
from ..drawing.severity_marks import severity_mark
from ..drawing.target import Block, Target, finding_target
from ..panels.finding_lines import cause_counts, causes
from ..panels.finding_page import finding_page
from ..panels.finding_terms import LIST_TERMS
from ..panels.no_findings import not_evaluated_lines, nothing_lines
from ..panels.top_line import top_line
from ..reports.markdown import finding_markdown
from ..session.view import View, window
from .picture_screen import BACK, PictureScreen

_BESIDE_FROM = 110


class FindingScreen(PictureScreen):
    """All findings as a tree, and the selected one in full."""

    NAME = "findings"
    BINDINGS: ClassVar[list[BindingType]] = [
        BACK,
        Binding("y", "copy", "copy as Markdown"),
        Binding("right,l", "scroll(1)", "scroll the text down", show=False),
        Binding("left,h", "scroll(-1)", "scroll the text up", show=False),
    ]
    WITHOUT = frozenset({"signal", "sort"})

    def __init__(self, selected: Target | None = None) -> None:
        super().__init__()
        self.selected = selected
        self._first = 0
        self._position = ""
        """Which lines of the selected one are in sight, where not all of them are."""

    def draw(self, view: View, width: int, height: int) -> Block:
        found = listed(view)
        if not found:
            return _nothing(view, width, height)
        chosen = self._chosen(view, found)
        if width >= _BESIDE_FROM:
            return self._beside(view, found, chosen, width, height)
        return self._below(view, found, chosen, width, height)

    def explained(self, view: View, width: int, height: int) -> Sequence[Section]:
        first, *others = LIST_TERMS
        text = self.draw(view, width, height).text
        return [Section("Findings", [first, *drawn_terms(others, text)])]

    def targets(self, view: View) -> Sequence[Target]:
        return [finding_target(finding) for finding, _ in listed(view)]

    def action_move(self, steps: int) -> None:
        view = self.view()
        if self.selected is None and view is not None:
            self.selected = next(iter(self.targets(view)), None)
        self._first = 0
        super().action_move(steps)

    def action_scroll(self, steps: int) -> None:
        self._first = max(0, self._first + 3 * steps)
        self.redraw()

    def action_copy(self) -> None:
        view = self.view()
        if view is None or not (found := listed(view)):
            return
        finding = self._chosen(view, found)
        text = finding_markdown(finding, view.frame, view.judgement.findings)
        self.gputop.copy_to_clipboard(text)
        self.gputop.tell(f"{finding.id} copied as Markdown, if the terminal allows it (OSC 52)")

    def _chosen(self, view: View, found: Sequence[tuple[Finding, int]]) -> Finding:
        return next(
            (finding for finding, _ in found if finding_target(finding) == view.selected),
            found[0][0],
        )

    def _beside(
        self,
        view: View,
        found: Sequence[tuple[Finding, int]],
        chosen: Finding,
        width: int,
        height: int,
    ) -> Block:
        room = height - 2
        list_width = min(72, width * 2 // 5)
        block = _list(view, found, chosen, list_width, room)
        page = self._page(view, chosen, width - list_width - 3, room)
        lines = [
            LineBuilder(width).extend(line).add(" ", "text").gap(2).extend(part).line()
            for line, part in zip(block.lines, page, strict=True)
        ]
        notes = [_count(view, len(found), room), self._position]
        title = heading("Findings", width, f" {DOT} ".join(filter(None, notes)))
        return Block.of([top_line(view, width), title]) + Block(lines, block.targets)

    def _below(
        self,
        view: View,
        found: Sequence[tuple[Finding, int]],
        chosen: Finding,
        width: int,
        height: int,
    ) -> Block:
        rows = min(len(found), height - 3, max(3, (height - 3) * 2 // 5))
        title = heading("Findings", width, _count(view, len(found), rows))
        block = Block.of([top_line(view, width), title])
        block = block + _list(view, found, chosen, width, rows)
        page = self._page(view, chosen, width - 2, height - 3 - rows)
        lines = [LineBuilder(width).gap().extend(line).line() for line in page]
        return block + Block.of([heading(chosen.id, width, self._position), *lines])

    def _page(self, view: View, chosen: Finding, width: int, rows: int) -> list[Line]:
        page = finding_page(chosen, view.judgement.findings, view.frame, width)
        not_evaluated = not_evaluated_lines(view.judgement, width)
        if not_evaluated:
            count = format.counted(len(view.judgement.not_evaluated), "rule")
            page += [blank(width), heading(f"{count} not evaluated", width), *not_evaluated]
        whole = len(page)
        self._first = max(0, min(self._first, whole - rows))
        page = page[self._first : self._first + rows]
        self._position = ""
        if len(page) < whole:
            upto = self._first + len(page)
            self._position = f"lines {self._first + 1} to {upto} of {whole} {DOT} h and l scroll"
        return page + [blank(width)] * (rows - len(page))


def listed(view: View) -> list[tuple[Finding, int]]:
    """Active ones as a tree with their depth, those under watch among them, then the cleared ones."""
    found: list[tuple[Finding, int]] = []
    for cause in causes([*view.findings("active"), *view.findings("pending")]):
        found += [(finding, 0) for finding in cause.findings]
        found += [(finding, 1) for finding in cause.symptoms]
    return found + [(finding, 0) for finding in view.findings("cleared")]


def _count(view: View, listed: int, rows: int) -> str:
    """Of causes as the first line counts them; of findings as they are listed here."""
    active = view.findings("active")
    many = sum(cause_counts(causes(active)).values())
    parts = [f"{format.counted(many, 'cause')} of {len(active)} active"]
    pending = sum(finding.is_pending_cause for finding in view.findings("pending"))
    parts += [f"{pending} pending", f"{len(view.findings('cleared'))} cleared"]
    if rows < listed:
        parts.append(f"{rows} of {listed} in sight")
    if view.filter:
        parts.append(f"matching {view.filter!r}")
    return f" {DOT} ".join(parts)


def _list(
    view: View, found: Sequence[tuple[Finding, int]], chosen: Finding, width: int, rows: int
) -> Block:
    at = next((at for at, (finding, _) in enumerate(found) if finding is chosen), None)
    first = window(len(found), rows, at)
    shown = found[first : first + rows]
    lines = [_row(view, finding, depth, finding is chosen, width) for finding, depth in shown]
    lines += [blank(width)] * (rows - len(lines))
    return Block.of(lines, [finding_target(finding) for finding, _ in shown])


def _row(view: View, finding: Finding, depth: int, chosen: bool, width: int) -> Line:
    mark, role = severity_mark(finding.severity)
    age = age_seconds(finding, view.frame.time_seconds)
    name_role = role if depth == 0 else "text"
    if finding.state == "cleared":
        mark, role, name_role = CLEARED, "good", "dim"
        age = view.frame.time_seconds - (finding.cleared_seconds or view.frame.time_seconds)
    elif finding.state == "pending":
        role = name_role = "dim"
    line = LineBuilder(width).add(SELECTED if chosen else " ", "key")
    line.add(f"  {FOLD} " if depth else "", "rule").add(f"{mark} ", role)
    line.add(f"{finding.id:<6} ", "dim").add(finding.name, name_role)
    ending = _price(finding) + _ending(finding, age)
    subject = f" {subject_text(finding.subject)}"
    line.add(left(subject, max(0, line.room - len(ending) - 1)), "strong").gap()
    return line.add(ending, "dim").line()


def _price(finding: Finding) -> str:
    """Of what stands on its own: a symptom's is in that of its cause."""
    ratio = finding.lost_ratio
    if finding.state != "active" or finding.explained_by or ratio is None or ratio < LEAST_PRICE:
        return ""
    return f"costs {format.quantity(ratio, 'ratio')}  "


def _ending(finding: Finding, age: float) -> str:
    words = {"active": "", "pending": "pending ", "cleared": "cleared "}[finding.state]
    return f"{words}{format.duration(age)}"


def _nothing(view: View, width: int, height: int) -> Block:
    said = nothing_lines(view, width)
    if view.filter and view.judgement.findings:
        said = paragraph(f"no finding matches {view.filter!r}", width, "dim")
    lines = [top_line(view, width), heading("Findings", width), *said][:height]
    return Block.of(lines + [blank(width)] * (height - len(lines)))
