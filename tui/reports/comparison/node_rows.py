"""GPUs and links on both sides."""

from __future__ import annotations

from collections.abc import Iterator

from ....probes.model.signals import signal_named
from .rows import Row, row
from .side import GpuSide, Side

WORKED_RATIO = 0.1
"""A GPU that did less than that has no clock worth comparing: it rests at a low one."""
_TOLD = (
    ("utilization_ratio", "ratio"),
    ("power_watts", "watts"),
    ("memory_used_bytes", "bytes"),
)
_RATES = (("rx_bytes_per_second", "in"), ("tx_bytes_per_second", "out"))


def compared_gpus(a: Side, b: Side, tolerance: float) -> Iterator[Row]:
    """Those that both sides have, by their number: the clock is judged, the others are told."""
    others = {gpu.index: gpu for gpu in b.gpus}
    for gpu in a.gpus:
        other = others.get(gpu.index)
        if other is None:
            continue
        subject = f"GPU {gpu.index}"
        yield row(
            subject,
            "sm_clock_hertz",
            "SM clock at work",
            "hertz",
            gpu.sm_clock_hertz,
            other.sm_clock_hertz,
            tolerance=tolerance,
            better="more",
            reason=_why_no_clock(gpu, other),
            group="GPU",
        )
        for name, unit in _TOLD:
            signal = signal_named(name)
            yield row(
                subject,
                name,
                signal.words if signal else name,
                unit,
                getattr(gpu, name),
                getattr(other, name),
                tolerance=tolerance,
                group="GPU",
            )


def compared_links(a: Side, b: Side, tolerance: float) -> Iterator[Row]:
    """What each link could carry is judged, what it carried is told."""
    others = {link.id: link for link in b.links}
    for link in a.links:
        other = others.get(link.id)
        if other is None:
            continue
        yield row(
            link.id,
            "limit_bytes_per_second",
            "can carry",
            "bytes_per_second",
            link.limit_bytes_per_second,
            other.limit_bytes_per_second,
            tolerance=tolerance,
            better="more",
            group=link.kind,
        )
        for name, label in _RATES:
            values = (getattr(link, name), getattr(other, name))
            yield row(
                link.id,
                name,
                label,
                "bytes_per_second",
                *values,
                tolerance=tolerance,
                group=link.kind,
            )


def _why_no_clock(a: GpuSide, b: GpuSide) -> str:
    if a.name != b.name:
        return "it is another chip"
    for letter, gpu in (("A", a), ("B", b)):
        if gpu.utilization_ratio is not None and gpu.utilization_ratio < WORKED_RATIO:
            return f"{letter}: it had hardly any work"
    return ""
