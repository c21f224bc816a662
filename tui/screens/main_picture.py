"""The main screen as a picture: which panels fit, and how many lines each gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...probes.frame import ProcessFrame
from ..glyphs import DOT
from ..lines import Line, blank, heading
from ..view import Block, View
from ..widgets.finding_lines import Cause, causes, finding_block, wanted_rows
from ..widgets.gpu_table import gpu_block, gpus_hidden
from ..widgets.host_line import host_line
from ..widgets.ledger import Account, accounts, covered_seconds, ledger_block
from ..widgets.process_table import ProcessRow, important, matching, process_block
from ..widgets.top_line import top_line

HEADINGS_FROM = 30
"""Lines of height from which panels have titles."""
MIN_WIDTH, MIN_HEIGHT = 60, 15
_MIN_GPUS = 3


class Rows(NamedTuple):
    """Lines of each panel, without its title. 0: it is not there."""

    gpus: int
    ledger: int
    findings: int
    processes: int


class Scene(NamedTuple):
    """What is worked out once for a picture."""

    accounts: list[Account]
    causes: list[Cause]
    processes: list[ProcessFrame]


def draw(view: View, width: int, height: int) -> Block:
    """Exactly ``height`` lines of exactly ``width`` cells."""
    scene = Scene(accounts(view), causes(view.findings("active")), processes_of(view))
    titled = height >= HEADINGS_FROM
    rows = allot(
        height - 2 - (3 if titled else 0),
        gpus=max(1, len(view.frame.gpus)),
        ledger=len(scene.accounts),
        findings=wanted_rows(scene.causes, width),
        processes=len(scene.processes),
        title=1 if titled else 0,
    )
    block = Block.of([top_line(view, width)])
    for title, panel in _panels(view, scene, rows, width):
        if titled:
            block = block + Block.of([title])
        block = block + panel
    return _with_host(view, block, width, height, titled)


def allot(
    height: int, *, gpus: int, ledger: int, findings: int, processes: int, title: int
) -> Rows:
    """Share lines out: GPUs first, then findings, then the ledger; processes take the rest.

    Args:
        height: lines for these panels, the titles of GPUs and findings taken off.
        gpus: how many there are.
        ledger: lines that it would like, as the others; 0: there is none.
        findings: see ``ledger``.
        processes: how many there are.
        title: lines that the title of a panel takes.
    """
    kept = min(findings, 3)
    gpu_rows = 1 + max(min(gpus, _MIN_GPUS), min(gpus, height - 1 - kept))
    room = max(0, height - gpu_rows)
    finding_rows = min(findings, max(min(kept, room), room // 3))
    room -= finding_rows
    ledger_rows = _ledger_rows(ledger, room, processes, title)
    room -= ledger_rows + (title if ledger_rows else 0)
    more = min(findings - finding_rows, max(0, room - (2 + title + min(processes, 8))))
    finding_rows += more
    room -= more
    process_rows = min(1 + processes, room - title) if processes and room >= 2 + title else 0
    if not process_rows:
        # Whatever cannot hold a second panel goes to the one that has more to say.
        finding_rows += min(findings - finding_rows, room)
    return Rows(gpu_rows, ledger_rows, finding_rows, process_rows)


def _ledger_rows(wanted: int, room: int, processes: int, title: int) -> int:
    if not wanted or room < 1 + title:
        return 0
    spared = 2 + title + min(processes, 4) if processes else 0
    return min(wanted, max(1, min(room - title, room - title - spared)))


def processes_of(view: View) -> list[ProcessFrame]:
    """The important ones first; with a filter, all that match."""
    found = matching(view)
    if view.filter or view.sort != "gpu":
        return found
    first = important(found)
    chosen = {process.pid for process in first}
    return first + [process for process in found if process.pid not in chosen]


def _panels(
    view: View, scene: Scene, rows: Rows, width: int
) -> Sequence[tuple[Line, Block]]:
    panels = [
        (heading("GPUs", width, gpus_hidden(view, rows.gpus)), gpu_block(view, width, rows.gpus))
    ]
    if rows.ledger:
        seconds = covered_seconds(view)
        title = heading(f"Where the last {max(1.0, seconds):.0f} s went", width)
        panels.append((title, ledger_block(scene.accounts, width, rows.ledger)))
    if rows.findings:
        title = heading("Findings", width, _finding_note(view))
        panels.append((title, finding_block(view, scene.causes, width, rows.findings)))
    if rows.processes:
        table = [ProcessRow(process) for process in scene.processes]
        block = process_block(view, table, width, rows.processes)
        title = heading("Processes", width, _process_note(view, scene, rows))
        panels.append((title, block))
    return panels


def _finding_note(view: View) -> str:
    pending = len(view.findings("pending"))
    return f"{pending} more under watch" if pending else ""


def _process_note(view: View, scene: Scene, rows: Rows) -> str:
    shown, whole = rows.processes - 1, len(scene.processes)
    parts = [f"by {view.sort}"]
    if shown < whole:
        parts.append(f"{shown} of {whole}")
    if view.filter:
        parts.append(f"matching {view.filter!r}")
    return f" {DOT} ".join(parts)


def _with_host(view: View, block: Block, width: int, height: int, titled: bool) -> Block:
    """The host's line closes the picture, whatever is above it."""
    last = [heading("Host", width)] if titled else []
    last.append(host_line(view, width))
    room = height - len(last)
    empty = Block.of([blank(width)] * max(0, room - len(block.lines)))
    upper = Block(block.lines[:room], block.targets[:room])
    return upper + empty + Block.of(last)
