"""Links: which link is full or broken?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from textual.binding import Binding, BindingType

from ..drawing.explanations import Section, drawn_terms
from ..drawing.glyphs import DOT
from ..drawing.lines import LineBuilder, blank, heading, plain
from ..drawing.missing import why_no_gpus
from ..drawing.target import Block, Target, finding_target, link_target
from ..panels.host_line import explained as host_explained
from ..panels.host_line import host_line
from ..panels.link_table import explained as links_explained
from ..panels.link_table import hidden_note, link_rows, links_of
from ..panels.nvlink_table import explained as nvlinks_explained
from ..panels.nvlink_table import nvlink_lines, nvlink_note
from ..panels.tcp_line import TERMS as TCP_TERMS
from ..panels.tcp_line import tcp_line
from ..panels.top_line import top_line
from ..panels.topology_table import explained as topology_explained
from ..panels.topology_table import topology_lines, topology_note, wanted_lines, whole_matrix
from ..session.view import View
from .picture_screen import PictureScreen

_MATRIX_FROM = 20
"""Lines of height from which there is room for the matrix."""
_TCP_FROM = 12
_FEWEST_ROWS = 6
_AROUND = 3
"""The top line, the title, the host."""


class LinkScreen(PictureScreen):
    """A row a link; below, the topology matrix."""

    NAME = "links"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,l,right", "open", "finding"),
        Binding("t", "topology", "topology"),
        Binding("n", "nvlinks", "single NVLinks"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._alone: Literal["matrix", "nvlinks"] | None = None
        """What has the screen for itself, instead of the links."""
        self._first = 0
        """Line of the matrix at the top, where it is alone."""
        self._gpu: int | None = None
        """Whose NVLinks are shown."""

    def draw(self, view: View, width: int, height: int) -> Block:
        if self._alone == "matrix":
            self._first = min(self._first, hidden_lines(view, width, height))
            return draw_topology(view, width, height, self._first)
        if self._alone == "nvlinks":
            return draw_nvlinks(view, width, height, self._gpu)
        return draw(view, width, height)

    def explained(self, view: View, width: int, height: int) -> Sequence[Section]:
        text = self.draw(view, width, height).text
        if self._alone == "matrix":
            return [topology_explained(text), host_explained(view, width)]
        if self._alone == "nvlinks":
            return [nvlinks_explained(width), host_explained(view, width)]
        sections = [links_explained(width)]
        if tcp := drawn_terms(TCP_TERMS, text):
            sections.append(Section("TCP", tcp))
        matrix = topology_explained(text.partition("Topology")[2])
        return [*sections, *[matrix] * bool(matrix.terms), host_explained(view, width)]

    def targets(self, view: View) -> Sequence[Target]:
        return [link_target(link.id) for link in links_of(view)]

    def action_topology(self) -> None:
        """The matrix alone, with all its rows, or the links again."""
        self._alone = None if self._alone == "matrix" else "matrix"
        self._first = 0
        self.redraw()

    def action_nvlinks(self) -> None:
        """The links of one GPU alone, of the selected one where one is; or the links again."""
        self._alone = None if self._alone == "nvlinks" else "nvlinks"
        view = self.view()
        self._gpu = gpu_of_interest(view) if view else None
        self.redraw()

    def action_move(self, steps: int) -> None:
        if self._alone is None:
            super().action_move(steps)
            return
        if self._alone == "matrix":
            self._first = max(0, self._first + steps)
        elif view := self.view():
            self._gpu = _another(view, self._gpu, steps)
        self.redraw()

    def action_leave(self) -> None:
        if self._alone is None:
            super().action_leave()
        else:
            self._alone = None
            self.redraw()

    def action_open(self) -> None:
        """To the finding about the selected link."""
        view = self.gputop.view(self.selected)
        if view is None or self.selected is None:
            return
        for finding in view.judgement.active:
            if finding.subject.kind == "link" and finding.subject.id == self.selected.id:
                self.gputop.open(finding_target(finding))
                return


def gpu_of_interest(view: View) -> int | None:
    """That of the selected link, else the first of which something is found, else the first."""
    links = links_of(view)
    if view.selected is not None:
        links.sort(key=lambda link: view.selected != link_target(link.id))
    return next((link.gpu_index for link in links if link.gpu_index is not None), None)


def _another(view: View, index: int | None, steps: int) -> int | None:
    """The GPU so many places further."""
    indices = [gpu.index for gpu in view.frame.gpus]
    if index not in indices:
        return indices[0] if indices else None
    return indices[min(len(indices) - 1, max(0, indices.index(index) + steps))]


def draw_nvlinks(view: View, width: int, height: int, index: int | None) -> Block:
    """The single NVLinks of one GPU."""
    gpu = None if index is None else view.frame.gpu(index)
    room = height - _AROUND
    if gpu is None:
        why = why_no_gpus(view.frame) or "no GPU is known yet"
        lines = [LineBuilder(width).gap(2).add(plain(why), "dim").line()]
    else:
        lines = nvlink_lines(view.frame, gpu, width, room)
    title = heading("NVLinks", width, nvlink_note(gpu) if gpu else "")
    empty = [blank(width)] * (room - len(lines))
    return Block.of([top_line(view, width), title, *lines, *empty, host_line(view, width)])


def draw_topology(view: View, width: int, height: int, first: int = 0) -> Block:
    """The matrix alone, from its line ``first`` on."""
    topology = view.frame.topology
    room = height - _AROUND
    lines = whole_matrix(view, width)
    shown = lines[first : first + room]
    notes = [topology_note(topology)]
    if len(shown) < len(lines):
        notes.append(f"lines {first + 1} to {first + len(shown)} of {len(lines)}")
    title = heading("Topology", width, f" {DOT} ".join(filter(None, notes)))
    empty = [blank(width)] * (room - len(shown))
    return Block.of([top_line(view, width), title, *shown, *empty, host_line(view, width)])


def hidden_lines(view: View, width: int, height: int) -> int:
    """How many lines of the matrix there is no room for."""
    return max(0, len(whole_matrix(view, width)) - (height - _AROUND))


def draw(view: View, width: int, height: int) -> Block:
    """Exactly ``height`` lines of exactly ``width`` cells."""
    topology = view.frame.topology
    matrix = 1 + wanted_lines(topology) if height >= _MATRIX_FROM else 0
    tcp = [tcp_line(view, width)] if height >= _TCP_FROM else []
    around = 3 + len(tcp)  # the top line, the title, TCP, the host
    rows = 1 + len(links_of(view))
    # The matrix gives way to the links where they would be too few to mean anything.
    if height - around - matrix < _FEWEST_ROWS:
        matrix = 0
    rows = max(1, min(rows, height - around - matrix))
    note = hidden_note(view, rows)
    if view.filter:
        note = f" {DOT} ".join(part for part in (note, f"matching {view.filter!r}") if part)
    block = Block.of([top_line(view, width), heading("Links", width, note)])
    block = block + link_rows(view, width, rows) + Block.of(tcp)
    if matrix:
        left = height - 1 - len(block.lines) - 1
        title = heading("Topology", width, topology_note(topology))
        block = block + Block.of([title, *topology_lines(view, width, left)])
    block = block + Block.of([blank(width)] * (height - 1 - len(block.lines)))
    return block + Block.of([host_line(view, width)])
