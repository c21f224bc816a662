"""The recent past of one GPU as charts, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.signal_types import Chart, Signal
from ...probes.model.signals import signals_of
from ...rules.history import History
from ..drawing import format
from ..drawing.bars import chart
from ..drawing.explanations import Section, Term
from ..drawing.glyphs import DOT
from ..drawing.lines import Line, LineBuilder, blank, plain, right

_GAP = 3
_CELL_SECONDS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0, 30.0, 60.0)


CHARTS = tuple((signal, signal.chart) for signal in signals_of("gpu") if signal.chart is not None)


def curve_lines(gpu: GpuFrame, history: History, width: int, height: int) -> list[Line]:
    """All charts, two in a row, in about ``height`` lines."""
    shown = [
        (signal, chart)
        for signal, chart in CHARTS
        if chart.always or getattr(gpu, signal.name) is not None
    ]
    each = (width - _GAP) // 2
    rows = (len(shown) + 1) // 2
    tall = max(1, min(8, height // rows - 1))
    spaced = height // rows >= tall + 2
    lines: list[Line] = []
    for at in range(0, len(shown), 2):
        pair = [_lines(*one, gpu, history, each, tall) for one in shown[at : at + 2]]
        lines += [_beside(parts, width) for parts in zip(*pair, strict=True)]
        if spaced:
            lines.append(blank(width))
    return lines


def explained() -> Section:
    """For the help: all charts."""
    window = Term(
        "each chart",
        "The value now, what it can be at most, and the least and most of the time shown. Each cell is a "
        "mean over the same time; an empty one: not read.",
    )
    return Section(
        "History",
        [window, *(Term(title_of(signal, chart), chart.about) for signal, chart in CHARTS)],
    )


def title_of(signal: Signal, of: Chart) -> str:
    """Above a chart."""
    return of.title or signal.words


def _lines(
    signal: Signal, of: Chart, gpu: GpuFrame, history: History, width: int, tall: int
) -> list[Line]:
    # As much of the past as there is, on a scale of time whatever the interval was.
    past = history.gpu(gpu.index, signal.name)
    values = past.cells(cell_seconds(history, width), width, fmean)
    present = [value for value in values if value is not None]
    most = max((*present, getattr(gpu, signal.name) or 0.0))
    top = _top(of, gpu)
    drawn = chart(values, width, tall, max(top or 0.0, most) or 1.0)
    head = LineBuilder(width).add(title_of(signal, of), "title").gap()
    return [_head(head, signal, top, gpu, present, most), *[((row, of.role),) for row in drawn]]


def _top(of: Chart, gpu: GpuFrame) -> float | None:
    """What it can be at most; ``None``: unknown, so the scale ends at the most that was seen."""
    known = (getattr(gpu, each) if isinstance(each, str) else each for each in of.full)
    return next((top for top in known if top), None)


def cell_seconds(history: History, width: int) -> float:
    """How much time a cell stands for when all of the past is to fit."""
    needed = history.seconds() / max(1, width - 1)
    return next((seconds for seconds in _CELL_SECONDS if seconds >= needed), _CELL_SECONDS[-1])


def _head(
    line: LineBuilder,
    signal: Signal,
    top: float | None,
    gpu: GpuFrame,
    present: Sequence[float],
    most: float,
) -> Line:
    value = getattr(gpu, signal.name)
    if value is None:
        return line.add(plain(gpu.missing.get(signal.name, "not read yet")), "dim").line()
    line.add(format.quantity(value, signal.unit), "strong")
    if signal.unit != "ratio":
        against = f" {_against(signal.unit, top, most)}"
        if len(against) <= line.room:  # a number that is cut would be another one
            line.add(against, "dim")
    if present:
        least, highest = (format.quantity(each(present), signal.unit) for each in (min, max))
        span = f"{least} to {highest}"
        if line.room > len(span) + 2:
            line.add(right(span, line.room), "dim")
    return line.line()


def _against(unit: str, top: float | None, most: float) -> str:
    """What it can be at most; where that is unknown or was exceeded, the most that was seen."""
    if top is not None and most <= top:
        return f"of {format.quantity(top, unit)}"
    return f"{DOT} most seen {format.quantity(most, unit)}"


def _beside(parts: Sequence[Line], width: int) -> Line:
    line = LineBuilder(width)
    for at, part in enumerate(parts):
        line.gap(_GAP if at else 0).extend(part)
    return line.line()


def span_text(history: History) -> str:
    """How far back the charts go."""
    return f"last {format.duration(history.seconds())} {DOT} newest at the right"
