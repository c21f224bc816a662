"""Xids of the driver's events and of the kernel log together: each once, with its GPU."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ..model.gpu_readings import GpuReading, XidReading

SAME_SECONDS = 10.0
"""The kernel's clock and ours run apart, and the event comes a moment later."""


def derive_xids(xids: Sequence[XidReading], gpus: Sequence[GpuReading]) -> tuple[XidReading, ...]:
    """Without those lines of the log that tell of an event which is known already."""
    if not any(xid.origin == "kernel log" for xid in xids):
        return tuple(xids)
    by_bus = {_bus(gpu.pci_bus_id): gpu for gpu in gpus if gpu.pci_bus_id}
    events = [xid for xid in xids if xid.origin != "kernel log"]
    joined = list(events)
    for xid in xids:
        if xid.origin != "kernel log":
            continue
        gpu = by_bus.get(_bus(xid.pci_bus_id)) if xid.pci_bus_id else None
        if gpu is not None:
            xid = replace(xid, gpu_index=gpu.index, gpu_uuid=gpu.uuid)
        if not any(_same(xid, event) for event in events):
            joined.append(xid)
    return tuple(sorted(joined, key=lambda each: each.time_seconds))


def _same(line: XidReading, event: XidReading) -> bool:
    if line.code != event.code or abs(line.time_seconds - event.time_seconds) > SAME_SECONDS:
        return False
    known = line.gpu_index is not None and event.gpu_index is not None
    return not known or line.gpu_index == event.gpu_index


def _bus(text: str | None) -> str:
    """NVML gives the domain eight digits, the kernel four, and the driver's line no function."""
    parts = (text or "").lower().split(":")
    if len(parts) < 3:
        return text or ""
    return f"{parts[-3][-4:]}:{parts[-2]}:{parts[-1].split('.')[0]}"
