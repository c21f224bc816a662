"""A GPU with its rates and joins worked out."""

from __future__ import annotations

from .gpu_readings import GpuReading, NvlinkReading
from .vocabulary import GpuStatus


class NvlinkFrame(NvlinkReading, frozen=True, kw_only=True, omit_defaults=False):
    """One NVLink; rates are means since it was read before, which is some seconds."""

    rx_bytes_per_second: float | None = None
    tx_bytes_per_second: float | None = None
    crc_errors_per_second: float | None = None
    crc_errors_since_start: int = 0
    """Growth since this monitor first saw the counter, as the next two."""
    replay_errors_since_start: int = 0
    recovery_errors_since_start: int = 0
    was_active: bool = False
    """It was up when it was first seen, or at some time since."""


class GpuFrame(GpuReading, frozen=True, kw_only=True, omit_defaults=False):
    """One GPU at this instant. With ``stale`` the values are as old as ``age_seconds`` says."""

    status: GpuStatus = "ok"
    age_seconds: float = 0.0
    status_reason: str = ""
    ever_read: bool = True
    """``False``: the driver has not answered once about it, and only its number is known."""
    pcie_generation_slot_max: int | None = None
    """Of the slot alone, as the bridge above the card tells it."""
    pcie_width_slot_max: int | None = None
    pcie_width_device_max: int | None = None
    pcie_limit_bytes_per_second: float | None = None
    """What the link as trained now can carry in one direction, encoding taken off."""
    pcie_replays_per_second: float | None = None
    pcie_replays_since_start: int | None = None
    """Growth since this monitor first saw the counter."""
    nvlink_limit_bytes_per_second: float | None = None
    """Sum over the active links, one direction."""
    nvlink_errors_since_start: int | None = None
    """CRC errors, replays and recoveries of all links."""
    nvlinks: tuple[NvlinkFrame, ...] | None = None
    ecc_uncorrected_since_start: int | None = None
    """Growth of the volatile counter since this monitor first saw it."""
    ecc_uncorrected_at_start: int | None = None
    """What the counter showed then."""
    faults_at_start: tuple[str, ...] = ()
    """Fields of faults that last until a reset, and were there when this monitor first looked."""
    rank: int | None = None
    job_id: str | None = None


def stale_after_seconds(interval_seconds: float) -> float:
    """From this age on a reading is stale: one missed turn is not, two are."""
    return 1.5 * interval_seconds + 0.5
