"""The main screen as a picture: which panels fit, and how many lines each gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...probes.model.process_frames import ProcessFrame
from ...rules.account.minute import covered_seconds
from ..drawing.glyphs import DOT
from ..drawing.lines import Line, LineBuilder, blank, heading
from ..drawing.lost_time import lost_line
from ..drawing.target import Block
from ..session.view import View
from .finding_lines import Cause, causes, finding_block, wanted_rows
from .gpu_table import gpu_block, gpus_hidden
from .host_line import host_line
from .ledger import ledger_block
from .no_findings import in_brief, not_evaluated_text, pending_text
from .process_table import ProcessRow, important, matching, process_block
from .top_line import top_line

HEADINGS_FROM = 30
"""Lines of height from which panels have titles."""
_MIN_GPUS = 3
_TITLE_CELLS = 16
"""What a panel's title takes beside its note, at the most."""
_LEAST_FINDINGS = 2


class Scene(NamedTuple):
    """What is worked out once for a picture."""

    causes: list[Cause]
    processes: list[ProcessFrame]


def draw(
    view: View,
    width: int,
    height: int,
    *,
    findings_width: int = 0,
    processes_width: int = 0,
) -> Block:
    """Exactly ``height`` lines of exactly ``width`` cells, or more where findings may be wider.

    Args:
        view: what to draw from.
        width: cells.
        height: lines.
        findings_width: cells for the findings, where not ``width``.
        processes_width: cells for the processes, where not ``width``.
    """
    scene = Scene(shown_causes(view), processes_of(view))
    titled = height >= HEADINGS_FROM
    last = [heading("Host", width)] if titled else []
    last.append(host_line(view, width))
    picture = _Picture(view, width, height - len(last), titled)
    picture.findings_width = findings_width or width
    picture.processes_width = processes_width or width
    picture.add(None, Block.of([top_line(view, width)]))
    _add_panels(picture, scene)
    return picture.finished() + Block.of(last)


def shown_causes(view: View) -> list[Cause]:
    """Of the findings that count, whatever is filtered; in one picture alone also the pending."""
    pending = view.judgement.pending if view.once else ()
    return causes([*view.judgement.active, *pending])


class _Picture:
    """Panels, one under another, in a space of its own."""

    def __init__(self, view: View, width: int, height: int, titled: bool) -> None:
        self.view = view
        self.width = self.findings_width = self.processes_width = width
        self.title = 1 if titled else 0
        self._height = height
        self._block = Block.of([])

    @property
    def room(self) -> int:
        """Lines that are left."""
        return self._height - len(self._block.lines)

    def add(self, title: Line | None, panel: Block) -> None:
        """Put a panel below the others."""
        if self.title and title is not None:
            self._block = self._block + Block.of([title])
        self._block = self._block + panel

    def finished(self) -> Block:
        """All of it, filled up with empty lines."""
        lines, targets = self._block
        empty = Block.of([blank(self.width)] * max(0, self.room))
        return Block(lines[: self._height], targets[: self._height]) + empty


def _add_panels(picture: _Picture, scene: Scene) -> None:
    view, width, title = picture.view, picture.width, picture.title
    wanted = wanted_rows(scene.causes, picture.findings_width)
    gpus = gpu_rows(picture.room - 2 * title, max(1, len(view.frame.gpus)), wanted)
    table = gpu_block(view, width, gpus, titled=bool(title))
    picture.add(heading("GPUs", width, gpus_hidden(view, gpus)), table)
    # That no process matches a filter takes a line too.
    processes = len(scene.processes) or int(bool(view.filter))
    findings = finding_rows(picture.room - title, wanted, processes, title)
    block = finding_block(view, scene.causes, picture.findings_width, findings)
    below = len(block.lines) + title
    accounts = view.judgement.minutes
    ledger = ledger_rows(picture.room - below, len(accounts), processes, title)
    if ledger:
        lost = lost_line(view.judgement)
        name = f"Where the last {max(1.0, covered_seconds(accounts)):.0f} s went"
        picture.add(
            heading(name, width, lost and f"{DOT} {lost}"),
            ledger_block(view, accounts, width, ledger),
        )
        spare = picture.room - below - min(processes, 4) - 2
        if not title and lost and spare > 0:
            picture.add(None, Block.of([LineBuilder(width).gap(2).add(lost, "dim").line()]))
    picture.add(heading("Findings", width, _finding_note(view, scene.causes, width)), block)
    _add_processes(picture, scene)


def _add_processes(picture: _Picture, scene: Scene) -> None:
    """As many as there is room for; or that the filter lets none through."""
    view, width, title = picture.view, picture.width, picture.title
    if scene.processes and picture.room >= 2 + title:
        rows = min(1 + len(scene.processes), picture.room - title)
        listed = [ProcessRow(process) for process in scene.processes]
        title_line = heading("Processes", width, _process_note(view, scene, rows))
        picture.add(title_line, process_block(view, listed, picture.processes_width, rows))
    elif view.filter and not scene.processes and picture.room >= 1 + title:
        said = LineBuilder(width).gap(2).add(f"no process matches {view.filter!r}", "dim").line()
        picture.add(heading("Processes", width), Block.of([said]))


def gpu_rows(room: int, gpus: int, findings: int) -> int:
    """Lines for the GPUs with their titles: all of them, if findings keep a few."""
    kept = min(findings, 3)
    rows = max(min(gpus, _MIN_GPUS), min(gpus, room - 1 - kept))
    return 1 + max(1, min(rows, room - 1 - _LEAST_FINDINGS))


def finding_rows(room: int, wanted: int, processes: int, title: int) -> int:
    """Lines for the findings: a third, and all but the least that processes and ledger need."""
    least = min(wanted, 3, room)
    others = 2 + title + min(processes, 2)
    return max(1, min(wanted, max(least, room // 3, room - others)))


def ledger_rows(room: int, wanted: int, processes: int, title: int) -> int:
    """Lines for the ledger: those alike are one where it would leave no room for processes."""
    if not wanted or room < 1 + title:
        return 0
    spared = 1 + title + min(processes, 4) if processes else 0
    return min(wanted, max(1, room - title - spared))


def processes_of(view: View) -> list[ProcessFrame]:
    """The important ones first; with a filter, all that match."""
    found = matching(view)
    if view.filter or view.sort != "gpu":
        return found
    first = important(found)
    chosen = {process.pid for process in first}
    return first + [process for process in found if process.pid not in chosen]


def _finding_note(view: View, found: Sequence[Cause], width: int) -> str:
    """What is not certain, unless the panel itself says so for want of findings."""
    if not found:
        return ""
    notes = f" {DOT} ".join(filter(None, (pending_text(view), not_evaluated_text(view.judgement))))
    return notes if len(notes) + _TITLE_CELLS <= width else in_brief(view)


def _process_note(view: View, scene: Scene, rows: int) -> str:
    shown, whole = rows - 1, len(scene.processes)
    parts = [f"by {view.sort}"]
    if shown < whole:
        parts.append(f"{shown} of {whole}")
    if view.filter:
        parts.append(f"matching {view.filter!r}")
    return f" {DOT} ".join(parts)
