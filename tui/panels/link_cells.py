"""What a GPU exchanges over PCIe and NVLink, in and out, each drawn against what that link can carry.

Where there is no room for both ways with their rates, the busier one is reported.
"""

from __future__ import annotations

from collections.abc import Callable

from ...probes.model.gpu_frames import GpuFrame
from ..drawing import format
from ..drawing.bars import gauge, level
from ..drawing.columns import Spans
from ..drawing.glyphs import DASH, DOWN, UP
from ..drawing.lines import Span, right
from .gpu_cells import GpuRow

NEARLY_FULL = 0.85
"""Share of its limit from which a link is warm."""
_WITH_NUMBER = 5
"""Cells of one direction from which there is room for its rate beside the fill."""
BUSIER_FROM = 6
"""Cells from which there is room for the rate of the busier direction, and one more for its fill."""
_WITH_GAUGE = 10
"""Cells of one direction from which a bar tells more than one cell that fills."""


def share_of(rate: float | None, limit: float | None) -> float | None:
    """How full a link is."""
    return rate / limit if rate is not None and limit else None


def pcie(row: GpuRow, width: int) -> Spans:
    """The limit is that of the link as trained now, encoding taken off."""
    gpu = row.gpu
    rates = (gpu.pcie_rx_bytes_per_second, gpu.pcie_tx_bytes_per_second)
    return _both_ways(rates, gpu.pcie_limit_bytes_per_second, width, row.value_role)


def nvlink(row: GpuRow, width: int) -> Spans:
    """The limit is the sum of the links that are up."""
    gpu = row.gpu
    rates = (gpu.nvlink_rx_bytes_per_second, gpu.nvlink_tx_bytes_per_second)
    return _both_ways(rates, gpu.nvlink_limit_bytes_per_second, width, row.value_role)


def _both_ways(
    rates: tuple[float | None, float | None], limit: float | None, width: int, role: str
) -> Spans:
    if rates == (None, None):
        return [(right(DASH, width), role)]
    each = max(2, (width - 1) // 2)
    if each < _WITH_NUMBER and width >= BUSIER_FROM:
        return _busier(rates, limit, width, role)
    gap = min(1, width - 2 * each)
    spans: list[Span] = [(" " * (width - 2 * each - gap), "text")]
    spans += _way(rates[0], limit, DOWN, each, role)
    spans.append((" " * gap, "text"))
    spans += _way(rates[1], limit, UP, each, role)
    return [span for span in spans if span[0]]


def _busier(
    rates: tuple[float | None, float | None], limit: float | None, width: int, role: str
) -> list[Span]:
    """With the unit in short: the title has no room for it."""
    known = [
        (rate, arrow) for rate, arrow in zip(rates, (DOWN, UP), strict=True) if rate is not None
    ]
    rate, arrow = max(known, key=lambda way: way[0])
    shown, fill = _way(rate, limit, arrow, BUSIER_FROM + 1, role, "G")
    if width == BUSIER_FROM:
        return [shown]
    return [(" " * (width - BUSIER_FROM - 1), "text"), shown, fill]


def _way(
    rate: float | None, limit: float | None, arrow: str, width: int, role: str, unit: str = ""
) -> list[Span]:
    """The rate where there is room, the arrow, and a fill: in ASCII some would be a sign before a number."""
    share = share_of(rate, limit)
    fill = "trough" if role == "stale" else "warm" if (share or 0.0) >= NEARLY_FULL else "gauge"
    text = "warm" if fill == "warm" else role
    one = " " if share is None else level(share)
    if width < _WITH_NUMBER:
        shown = DASH if rate is None else one
        return [(arrow.rjust(width - 1), "dim"), (shown, fill)]
    if width < _WITH_GAUGE:
        room = width - 2 - len(unit)
        return [(f"{format.rate(rate, room)}{unit}{arrow}", text), (one, fill)]
    bar = width - _WITH_NUMBER - 1
    return [*gauge(share, bar, fill), (f" {format.rate(rate, 4)}{arrow}", text)]


def rate_spans(gpu: GpuFrame) -> list[Span]:
    """Both links, both ways, in words: ``PCIe 3.7↓ 2.0↑  NVLink 182↓ 178↑ GB/s``."""
    spans: list[Span] = []
    for name, rx, tx in (
        ("PCIe", gpu.pcie_rx_bytes_per_second, gpu.pcie_tx_bytes_per_second),
        ("NVLink", gpu.nvlink_rx_bytes_per_second, gpu.nvlink_tx_bytes_per_second),
    ):
        if (rx, tx) != (None, None):
            both = f"{format.rate(rx, 4)}{DOWN} {format.rate(tx, 4)}{UP}"
            spans += [(f"  {name} ", "dim"), (both, "text")]
    return [*spans, (" GB/s", "dim")] if spans else []


_BOTH_WAYS = (
    "\u2193 into the GPU, \u2191 out of it; a bar or cell shows the share of the link's limit. Where "
    "there is "
    "room for one way only, the busier one."
)
ABOUT: dict[Callable[[GpuRow, int], Spans], str] = {
    pcie: "PCIe traffic in GB/s (G), mean since the last sample. Limit: the link as trained now, encoding "
    f"taken off. {_BOTH_WAYS} GPM, or NVML's counters; where there is neither, a window of 20 ms.",
    nvlink: "NVLink traffic of all links of this GPU in GB/s (G), mean since the last sample. Limit: sum "
    f"of the links that are up. {_BOTH_WAYS} GPM, or NVML's counters.",
}
"""For the help: each column's meaning, unit, window and source."""
