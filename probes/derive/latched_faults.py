"""Faults that a GPU keeps until it is reset: which of them were there before this monitor."""

from __future__ import annotations

from ..model.gpu_frames import GpuFrame
from ..model.gpu_readings import GpuReading

LATCHED = (
    "ecc_uncorrected",
    "remap_pending",
    "remap_failed",
    "retired_pages_pending",
    "bank_remap_pending",
    "channel_repair_pending",
    "tpc_repair_pending",
    "unrepairable_memory",
    "sram_threshold_exceeded",
    "recovery_action",
)
_NO_ACTION = "none"


def faults_at_start(reading: GpuReading, previous: GpuFrame | None) -> tuple[str, ...]:
    """The fields of those that are in the first reading which tells of any of them."""
    if previous is not None and (previous.faults_at_start or _tells(previous)):
        return previous.faults_at_start
    return tuple(name for name in LATCHED if getattr(reading, name) not in (None, 0, _NO_ACTION))


def _tells(reading: GpuReading) -> bool:
    return any(getattr(reading, name) is not None for name in LATCHED)
