"""One GPU: what has this chip been doing?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from ...probes.model.gpu_frames import GpuFrame
from ..drawing.explanations import Section, fact_terms
from ..drawing.lines import Line, LineBuilder, blank, heading, text_of
from ..drawing.target import Block
from ..panels.gpu_charts import curve_lines, span_text
from ..panels.gpu_charts import explained as charts_explained
from ..panels.gpu_fact_terms import GPU_FACT_TERMS
from ..panels.gpu_facts import fact_lines, title_lines
from ..panels.gpu_findings import gpu_finding_lines
from ..panels.throttle_bands import TERMS as BAND_TERMS
from ..panels.throttle_bands import band_lines
from ..panels.top_line import top_line
from ..session.view import View
from .picture_screen import BACK, SCROLLING, PictureScreen

_BESIDE_FROM = 132
_FACTS_WIDTH = 64
_LEAST_PAST = 12
"""Lines for the charts, also where much is found: then one has to scroll."""


class GpuScreen(PictureScreen):
    """What is found about one GPU; its histories, identity, limits, health and processes."""

    NAME = "gpu"
    BINDINGS: ClassVar[list[BindingType]] = [
        BACK,
        Binding("h,left", "other(-1)", "previous GPU"),
        Binding("l,right", "other(1)", "next GPU"),
        *SCROLLING,
    ]
    WITHOUT = frozenset({"signal", "sort", "filter"})

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index
        self._first = 0

    def draw(self, view: View, width: int, height: int) -> Block:
        gpu = view.frame.gpu(self.index)
        lines = [top_line(view, width)]
        if gpu is None:
            lines.append(LineBuilder(width).add(f"  there is no GPU {self.index}", "dim").line())
            return Block.of(lines + [blank(width)] * (height - 2))
        lines += title_lines(gpu, width)
        room = height - len(lines)
        body = _body(view, gpu, width, room)
        self._first = max(0, min(self._first, len(body) - room))
        shown = body[self._first : self._first + room]
        lines += [*shown, *[blank(width)] * (room - len(shown))]
        return Block.of(lines[:height])

    def explained(self, view: View, width: int, height: int) -> Sequence[Section]:
        gpu = view.frame.gpu(self.index)
        if gpu is None:
            return ()
        facts = "\n".join(map(text_of, fact_lines(gpu, view.frame, width)))
        charts = charts_explained()
        return [
            charts._replace(terms=[*BAND_TERMS, *charts.terms]),
            Section("Facts", fact_terms(GPU_FACT_TERMS, facts)),
        ]

    def action_move(self, steps: int) -> None:
        self._first = max(0, self._first + steps)
        self.redraw()

    def action_other(self, step: int) -> None:
        view = self.gputop.view(None)
        known = [gpu.index for gpu in view.frame.gpus] if view else []
        if self.index in known:
            self.index = known[(known.index(self.index) + step) % len(known)]
            self._first = 0
            self.redraw()


def _body(view: View, gpu: GpuFrame, width: int, height: int) -> list[Line]:
    """What is found about it, whole; then how it got there, and what it is."""
    found = gpu_finding_lines(view, gpu.index, width)
    title = heading("History", width, span_text(view.history))
    past = _past(view, gpu, width, max(_LEAST_PAST, height - len(found) - 1))
    return [*found, title, *past]


def _past(view: View, gpu: GpuFrame, width: int, height: int) -> list[Line]:
    beside = width >= _BESIDE_FROM
    facts_width = max(_FACTS_WIDTH, width * 2 // 5) if beside else width - 2
    chart_width = width - facts_width - 4 if beside else width - 2
    bands = band_lines(gpu, view.history, chart_width)
    room = height - len(bands) - 1
    charts = [*bands, blank(chart_width), *curve_lines(gpu, view.history, chart_width, room)]
    facts = fact_lines(gpu, view.frame, facts_width)
    if not beside:
        lines = [*charts, *facts]
        return [LineBuilder(width).gap().extend(line).line() for line in lines]
    return [
        _side_by_side(_line(charts, at), _line(facts, at), chart_width, width)
        for at in range(max(len(charts), len(facts)))
    ]


def _line(lines: list[Line], at: int) -> Line:
    return lines[at] if at < len(lines) else ()


def _side_by_side(curve: Line, fact: Line, chart_width: int, width: int) -> Line:
    line = LineBuilder(width).gap().extend(curve)
    return line.until(chart_width + 3).extend(fact).line()
