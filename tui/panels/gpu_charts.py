"""The recent past of one GPU as charts, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

import msgspec

from ...probes.model.gpu_frames import GpuFrame
from ...rules.history import History
from ..drawing import format
from ..drawing.bars import chart
from ..drawing.explanations import Section, Term
from ..drawing.glyphs import DOT
from ..drawing.lines import Line, LineBuilder, blank, plain, right

_GAP = 3
_CELL_SECONDS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0, 30.0, 60.0)


class Curve(msgspec.Struct, frozen=True):
    """One signal."""

    title: str
    signal: str
    unit: str
    role: str
    top: Callable[[GpuFrame], float | None]
    """What it can be at most; ``None``: unknown, so the scale ends at the most that was seen."""
    about: str
    """For the help."""


def _full(_: GpuFrame) -> float:
    return 1.0


def _pcie(gpu: GpuFrame) -> float | None:
    return gpu.pcie_limit_bytes_per_second


def _nvlink(gpu: GpuFrame) -> float | None:
    return gpu.nvlink_limit_bytes_per_second


CURVES: tuple[Curve, ...] = (
    Curve(
        "utilization",
        "utilization_ratio",
        "ratio",
        "gauge",
        _full,
        "Share of the time in which any kernel ran, however small; the driver's own window of 1/6 to "
        "1 s. NVML.",
    ),
    Curve(
        "SM active",
        "sm_active_ratio",
        "ratio",
        "gauge",
        _full,
        "How many of the chip's multiprocessors had work. Near 0 under a high utilization, the SMs "
        "idle while a kernel waits or polls. GPM: Hopper and newer.",
    ),
    Curve(
        "tensor active",
        "tensor_active_ratio",
        "ratio",
        "gauge",
        _full,
        "Share of the time in which the tensor cores were busy. GPM: Hopper and newer.",
    ),
    Curve(
        "DRAM active",
        "dram_active_ratio",
        "ratio",
        "gauge",
        _full,
        "Share of the time in which the interface to the GPU's memory was busy. GPM: Hopper and newer.",
    ),
    Curve(
        "memory",
        "memory_used_bytes",
        "bytes",
        "memory",
        lambda gpu: gpu.memory_total_bytes,
        "GPU memory allocated by processes, against all of it. NVML.",
    ),
    Curve(
        "power",
        "power_watts",
        "watts",
        "data",
        lambda gpu: gpu.power_limit_watts,
        "Power draw, against the limit in force. NVML.",
    ),
    Curve(
        "SM clock",
        "sm_clock_hertz",
        "hertz",
        "memory",
        lambda gpu: gpu.sm_clock_max_hertz,
        "Clock of the multiprocessors, against the highest of the chip. NVML.",
    ),
    Curve(
        "temperature",
        "temperature_celsius",
        "celsius",
        "hot",
        lambda gpu: gpu.temperature_slowdown_celsius or 100.0,
        "Temperature of the chip, against the threshold from which it slows down. NVML.",
    ),
    Curve(
        "PCIe in",
        "pcie_rx_bytes_per_second",
        "bytes_per_second",
        "h2d",
        _pcie,
        "Bytes a second over PCIe into the GPU, against what the link carries as trained now. GPM or NVML.",
    ),
    Curve(
        "PCIe out",
        "pcie_tx_bytes_per_second",
        "bytes_per_second",
        "h2d",
        _pcie,
        "Bytes a second over PCIe out of the GPU.",
    ),
    Curve(
        "NVLink in",
        "nvlink_rx_bytes_per_second",
        "bytes_per_second",
        "comm",
        _nvlink,
        "Bytes a second over all NVLinks into the GPU, against the sum of those that are up. GPM or NVML.",
    ),
    Curve(
        "NVLink out",
        "nvlink_tx_bytes_per_second",
        "bytes_per_second",
        "comm",
        _nvlink,
        "Bytes a second over all NVLinks out of the GPU.",
    ),
)


def curve_lines(gpu: GpuFrame, history: History, width: int, height: int) -> list[Line]:
    """All charts, two in a row, in about ``height`` lines."""
    each = (width - _GAP) // 2
    rows = (len(CURVES) + 1) // 2
    tall = max(1, min(8, height // rows - 1))
    spaced = height // rows >= tall + 2
    lines: list[Line] = []
    for at in range(0, len(CURVES), 2):
        pair = [_lines(curve, gpu, history, each, tall) for curve in CURVES[at : at + 2]]
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
    return Section("History", [window, *(Term(curve.title, curve.about) for curve in CURVES)])


def _lines(curve: Curve, gpu: GpuFrame, history: History, width: int, tall: int) -> list[Line]:
    values = _values(curve, gpu, history, width)
    present = [value for value in values if value is not None]
    most = max((*present, getattr(gpu, curve.signal) or 0.0))
    drawn = chart(values, width, tall, max(curve.top(gpu) or 0.0, most) or 1.0)
    return [_title(curve, gpu, present, most, width), *[((row, curve.role),) for row in drawn]]


def _values(curve: Curve, gpu: GpuFrame, history: History, width: int) -> list[float | None]:
    """As much of the past as there is, on a scale of time whatever the interval was."""
    return history.gpu(gpu.index, curve.signal).cells(cell_seconds(history, width), width, fmean)


def cell_seconds(history: History, width: int) -> float:
    """How much time a cell stands for when all of the past is to fit."""
    needed = history.seconds() / max(1, width - 1)
    return next((seconds for seconds in _CELL_SECONDS if seconds >= needed), _CELL_SECONDS[-1])


def _title(curve: Curve, gpu: GpuFrame, present: Sequence[float], most: float, width: int) -> Line:
    line = LineBuilder(width).add(curve.title, "title").gap()
    value = getattr(gpu, curve.signal)
    if value is None:
        return line.add(plain(gpu.missing.get(curve.signal, "not read yet")), "dim").line()
    line.add(format.quantity(value, curve.unit), "strong")
    if curve.unit != "ratio":
        against = f" {_against(curve, gpu, most)}"
        if len(against) <= line.room:  # a number that is cut would be another one
            line.add(against, "dim")
    if present:
        span = f"{format.quantity(min(present), curve.unit)} to {format.quantity(max(present), curve.unit)}"
        if line.room > len(span) + 2:
            line.add(right(span, line.room), "dim")
    return line.line()


def _against(curve: Curve, gpu: GpuFrame, most: float) -> str:
    """What it can be at most; where that is unknown or was exceeded, the most that was seen."""
    top = curve.top(gpu)
    if top is not None and most <= top:
        return f"of {format.quantity(top, curve.unit)}"
    return f"{DOT} most seen {format.quantity(most, curve.unit)}"


def _beside(parts: Sequence[Line], width: int) -> Line:
    line = LineBuilder(width)
    for at, part in enumerate(parts):
        line.gap(_GAP if at else 0).extend(part)
    return line.line()


def span_text(history: History) -> str:
    """How far back the charts go."""
    return f"last {format.duration(history.seconds())} {DOT} newest at the right"
