"""Why the clocks of a GPU were held down, as a band over time for each reason."""

from __future__ import annotations

from collections.abc import Sequence

from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.throttle_reasons import THROTTLE_REASONS
from ...rules.history import THROTTLED, History
from ..drawing.explanations import Term
from ..drawing.glyphs import BAR_REST, BLOCK
from ..drawing.lines import Line, LineBuilder, left, plain
from .gpu_cells import SLOWDOWN_ROLES
from .gpu_charts import cell_seconds

_LABEL = 20
_Cells = Sequence[float | None]


def band_lines(gpu: GpuFrame, history: History, width: int) -> list[Line]:
    """A title, and a line for each reason that there was in the time shown."""
    room = max(1, width - _LABEL - 1)
    seconds = cell_seconds(history, room)
    cells = history.gpu(gpu.index, THROTTLED).cells(seconds, room, _joined)
    seen = [bit for bit in THROTTLE_REASONS if any(_has(cell, bit) for cell in cells)]
    title = LineBuilder(width).add("clocks held by", "title").gap()
    if not seen:
        return [title.add(_none(gpu, cells), "dim").line()]
    return [title.line(), *[_band(bit, cells, width) for bit in seen]]


TERMS = (
    Term(
        "clocks held by",
        "Why the clocks were not higher, a line a reason; a filled cell: at some moment of that time. "
        "NVML's clock event reasons, read with each sample.",
    ),
)


def _none(gpu: GpuFrame, cells: _Cells) -> str:
    if all(cell is None for cell in cells):
        return plain(gpu.missing.get("throttle_reasons", "not read yet"))
    return "nothing in this time"


def _band(bit: int, cells: _Cells, width: int) -> Line:
    reason = THROTTLE_REASONS[bit]
    line = LineBuilder(width).add(left(reason, _LABEL), "dim").gap()
    for cell in cells:
        if cell is None:
            line.gap()
        elif _has(cell, bit):
            line.add(BLOCK, SLOWDOWN_ROLES.get(reason, "other"))
        else:
            line.add(BAR_REST, "trough")
    return line.line()


def _has(cell: float | None, bit: int) -> bool:
    return cell is not None and bool(int(cell) & bit)


def _joined(values: list[float]) -> float:
    """Whatever held them at any moment of a cell: short ones must not be lost."""
    bits = 0
    for value in values:
        bits |= int(value)
    return float(bits)
