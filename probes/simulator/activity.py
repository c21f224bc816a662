"""What a rank and its GPU do while the rank is in one phase of a training step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Activity(NamedTuple):
    """Rates that hold for as long as a phase lasts. Everything moving is an integral of these."""

    utilization: float = 0.0
    """Ratios from 0 to 1, as NVML and GPM count them."""
    memory_utilization: float = 0.0
    sm_active: float = 0.0
    sm_occupancy: float = 0.0
    tensor_active: float = 0.0
    dram_active: float = 0.0
    power: float = 118.0
    """Watts."""
    sm_clock: float = 1980e6
    """Hertz."""
    pcie_rx: float = 0.02e9
    """Bytes per second, as the next ones."""
    pcie_tx: float = 0.01e9
    nvlink_rx: float = 0.0
    nvlink_tx: float = 0.0
    read: float = 12e6
    """By each of the rank's workers."""
    rank_cpu: float = 1.0
    """Cores that the rank's process keeps busy."""
    worker_cpu: float = 0.78
    """Cores that each of the rank's workers keeps busy."""


CHANNELS = Activity._fields
"""Names of the rates, in the order of the integrals."""

Work = Mapping[str, Activity]
"""Phase → what happens in it."""

SPINNING = "spinning"
"""The part of ``comm`` in which a rank waits for the others; not a phase of its own."""

TRAINING: Work = {
    "data": Activity(utilization=0.04, power=150.0, rank_cpu=0.15),
    "h2d": Activity(
        utilization=0.55, sm_active=0.02, dram_active=0.03, power=210.0, pcie_rx=38e9, pcie_tx=0.4e9
    ),
    "forward": Activity(
        utilization=0.98,
        memory_utilization=0.46,
        sm_active=0.90,
        sm_occupancy=0.44,
        tensor_active=0.56,
        dram_active=0.45,
        power=628.0,
        sm_clock=1755e6,
        pcie_rx=2.6e9,
        pcie_tx=2.0e9,
        nvlink_rx=196e9,
        nvlink_tx=192e9,
    ),
    "backward": Activity(
        utilization=1.0,
        memory_utilization=0.52,
        sm_active=0.93,
        sm_occupancy=0.47,
        tensor_active=0.57,
        dram_active=0.51,
        power=640.0,
        sm_clock=1755e6,
        pcie_rx=2.9e9,
        pcie_tx=2.4e9,
        nvlink_rx=205e9,
        nvlink_tx=201e9,
        rank_cpu=1.1,
    ),
    "comm": Activity(
        utilization=1.0,
        memory_utilization=0.20,
        sm_active=0.16,
        sm_occupancy=0.05,
        dram_active=0.22,
        power=330.0,
        sm_clock=1905e6,
        nvlink_rx=265e9,
        nvlink_tx=265e9,
    ),
    SPINNING: Activity(
        utilization=1.0,
        memory_utilization=0.01,
        sm_active=0.02,
        sm_occupancy=0.004,
        dram_active=0.004,
        power=140.0,
    ),
    "optimizer": Activity(
        utilization=0.92,
        memory_utilization=0.83,
        sm_active=0.58,
        sm_occupancy=0.52,
        tensor_active=0.01,
        dram_active=0.81,
        power=505.0,
        sm_clock=1800e6,
    ),
    "other": Activity(utilization=0.10, sm_active=0.01, power=190.0),
    "sync": Activity(
        utilization=0.96, sm_active=0.84, tensor_active=0.52, dram_active=0.42, power=590.0
    ),
    "startup": Activity(rank_cpu=1.0, read=0.0, worker_cpu=0.0, pcie_rx=1.2e9),
    "compile": Activity(rank_cpu=1.0, read=0.0, worker_cpu=0.0),
    "checkpoint": Activity(rank_cpu=0.7, read=0.0, worker_cpu=0.0, pcie_tx=4e9),
    "eval": Activity(
        utilization=0.97,
        memory_utilization=0.40,
        sm_active=0.86,
        sm_occupancy=0.42,
        tensor_active=0.52,
        dram_active=0.41,
        power=598.0,
        sm_clock=1770e6,
        pcie_rx=2.4e9,
        pcie_tx=1.8e9,
    ),
    "idle": Activity(
        power=71.0, sm_clock=345e6, pcie_rx=0.0, pcie_tx=0.0, rank_cpu=0.0, worker_cpu=0.0, read=0.0
    ),
}
"""A healthy rank of a sharded training job."""


def altered(work: Work, **changes: float) -> Work:
    """The same work with some rates set to a value in every phase."""
    return {phase: activity._replace(**changes) for phase, activity in work.items()}


def computing(work: Work, **changes: float) -> Work:
    """The same work with some rates set to a value in the phases in which the GPU computes."""
    return {
        phase: activity._replace(**changes) if activity.sm_active > 0.5 else activity
        for phase, activity in work.items()
    }
