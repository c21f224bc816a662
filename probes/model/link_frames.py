"""Links as they are drawn, exported and judged: what each carries, could carry, and has suffered."""

from __future__ import annotations

from typing import Literal

import msgspec

from .link_readings import PortReading
from .reading import Missing

LinkKind = Literal["pcie", "nvlink", "infiniband", "roce", "rdma", "ethernet"]

GONE = "gone"
"""State of a port that was there and is not any more."""


class PortFrame(PortReading, frozen=True, kw_only=True, omit_defaults=False):
    """One RDMA port. A counter that could not be read this time stands where it was last seen."""

    rx_bytes_per_second: float | None = None
    tx_bytes_per_second: float | None = None
    rx_packets_per_second: float | None = None
    tx_packets_per_second: float | None = None
    wait_ratio: float | None = None
    """Share of the time in which it had data to send and could not, with ticks as long as 8 bytes
    take: as NVIDIA's chips count them from HDR on. Older ones count up to 32 bytes a lane, so that
    theirs is the least that it can be."""
    counters_since_start: dict[str, int] = {}
    """Growth since this monitor first saw them, of those that have grown."""
    full_counters: tuple[str, ...] = ()
    """Those that stand at their highest value and count no more."""
    used: bool = False
    """It has carried data, or was active, at some time: what happens to it matters to somebody."""
    best_rate_bytes_per_second: float | None = None
    """The highest rate that it was seen trained at."""
    state_changes: int = 0
    """How often it was seen to become active, or to cease to be."""
    state_monotonic_seconds: float | None = None
    """Since when its state is what it is; ``None``: since before this monitor came."""
    age_seconds: float = 0.0
    wait_full_monotonic_seconds: float | None = None
    """When the counter of waiting was seen to fill up; ``None``: it is not full, or was before."""
    wait_full_ratio: float | None = None
    """The least that ``wait_ratio`` can have been while it did."""


class LinkFrame(msgspec.Struct, frozen=True, kw_only=True):
    """One link between two places, with what it carries and what it could."""

    id: str
    kind: LinkKind
    gpu_index: int | None = None
    device: str | None = None
    """RDMA device or network interface."""
    state: str | None = None
    """``up``, or in a word or two what is wrong with it."""
    rx_bytes_per_second: float | None = None
    tx_bytes_per_second: float | None = None
    limit_bytes_per_second: float | None = None
    """One direction."""
    wait_ratio: float | None = None
    errors_since_start: int | None = None
    """Of the kinds that a link in good health does not have."""
    missing: Missing = {}
