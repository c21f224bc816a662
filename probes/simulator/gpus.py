"""Eight H100 in one node: what never changes of each, and what follows from what its rank does."""

from __future__ import annotations

import uuid
from typing import Any

import msgspec

from ..model.gpu_readings import DriverReading, GpuProcessReading, GpuReading, NvlinkReading
from ..model.missing_reasons import NO_FANS
from .activity import CHANNELS, Activity
from .timeline import MICROSECONDS, UNIT, Integrals, Timeline

GIB = 1024**3
MIB = 1024**2

DRIVER = {
    "driver_version": "580.65.06",
    "nvml_version": "13.580.65.06",
    "cuda_version": "13.0",
    "gpu_count": 8,
}

NOT_HOPPER = "not supported by this GPU"

_LINKS = 18
_SWITCHES = ("00000000:05:00.0", "00000000:06:00.0", "00000000:07:00.0", "00000000:08:00.0")
_BUSES = (0x18, 0x2A, 0x3A, 0x5D, 0x9A, 0xAB, 0xBA, 0xDB)
_WARMER_BY = (0.0, 1.0, -0.5, 0.5, 1.5, 0.0, 2.0, -1.0)
"""Degrees Celsius by which each one runs warmer than another in its place would."""
_COLD_CELSIUS = 39.5
_CELSIUS_PER_WATT = 0.036
_WARM_UP = 20 * MICROSECONDS
_LINKS_EVERY = 10 * MICROSECONDS
_STAMPS_BEGIN = 2_000_000.0
"""The driver's clock at elapsed 0, in seconds."""
_CLOCK_STEP_HERTZ = 15e6
_ENERGY_BEFORE_JOULES = 4.1e8

_POWER = CHANNELS.index("power")
_PCIE_RX, _PCIE_TX = CHANNELS.index("pcie_rx"), CHANNELS.index("pcie_tx")
_NVLINK_RX, _NVLINK_TX = CHANNELS.index("nvlink_rx"), CHANNELS.index("nvlink_tx")


class Gpu:
    """One GPU of the node.

    Args:
        index: NVML's, and the number of the rank on it.
        rank_pid: of the process on it.
        timeline: what its rank does.
    """

    def __init__(self, index: int, rank_pid: int, timeline: Timeline) -> None:
        self._index = index
        self._rank_pid = rank_pid
        self._timeline = timeline
        self._template = GpuReading(monotonic_seconds=0.0, **_identity(index), **_constants(index))
        self._links: tuple[int, tuple[NvlinkReading, ...]] = (-1, ())

    def read(
        self, moment: int, now: Integrals, mean: Activity, monotonic_seconds: float
    ) -> GpuReading:
        """The reading at a moment in microseconds.

        Args:
            moment: it.
            now: the integrals at it.
            mean: over the second before it; ratios, power and clock are such means.
            monotonic_seconds: of the reading.
        """
        warmth = now[_POWER] - self._timeline.integral(moment - _WARM_UP, _POWER)
        return msgspec.structs.replace(
            self._template,
            monotonic_seconds=monotonic_seconds,
            **_activity(mean),
            **_counters(now),
            **self._heat(warmth / (UNIT * (_WARM_UP // MICROSECONDS))),
            nvlinks=self._nvlinks(moment),
            processes=(
                GpuProcessReading(
                    pid=self._rank_pid, memory_bytes=int(70.6 * GIB), sm_ratio=mean.utilization
                ),
            ),
        )

    def _heat(self, watts: float) -> dict[str, Any]:
        celsius = _COLD_CELSIUS + _WARMER_BY[self._index] + _CELSIUS_PER_WATT * watts
        return {
            "temperature_celsius": float(round(celsius)),
            "memory_temperature_celsius": float(round(celsius + 9.0)),
        }

    def _nvlinks(self, moment: int) -> tuple[NvlinkReading, ...]:
        """As the real source does, they are read again only every ten seconds."""
        turn = moment // _LINKS_EVERY
        if self._links[0] != turn:
            rx, tx = (
                self._timeline.integral(turn * _LINKS_EVERY, channel) // UNIT // _LINKS
                for channel in (_NVLINK_RX, _NVLINK_TX)
            )
            stamp = _STAMPS_BEGIN + turn * _LINKS_EVERY / MICROSECONDS
            self._links = (turn, tuple(_nvlink(link, rx, tx, stamp) for link in range(_LINKS)))
        return self._links[1]


def driver(monotonic_seconds: float) -> DriverReading:
    """The driver of the node."""
    return DriverReading(monotonic_seconds=monotonic_seconds, **DRIVER)  # type: ignore[arg-type]


def gpu_uuid(index: int) -> str:
    """Of the GPU of that index; the same on every run."""
    return f"GPU-{uuid.uuid5(uuid.NAMESPACE_DNS, f'gpu{index}.node17.simulated')}"


def gpu_bus_id(index: int) -> str:
    """Of the GPU of that index, as NVML writes it."""
    return f"00000000:{_BUSES[index]:02X}:00.0"


def _activity(mean: Activity) -> dict[str, Any]:
    return {
        "utilization_ratio": round(mean.utilization, 2),
        "memory_utilization_ratio": round(mean.memory_utilization, 2),
        "sm_active_ratio": mean.sm_active,
        "sm_occupancy_ratio": mean.sm_occupancy,
        "tensor_active_ratio": mean.tensor_active,
        "dram_active_ratio": mean.dram_active,
        "power_watts": round(mean.power, 3),
        "sm_clock_hertz": round(mean.sm_clock / _CLOCK_STEP_HERTZ) * _CLOCK_STEP_HERTZ,
        "throttle_reasons": () if mean.utilization > 0.01 else ("gpu idle",),
        "performance_state": 0,
        "encoder_ratio": 0.0,
        "decoder_ratio": 0.0,
    }


def _counters(now: Integrals) -> dict[str, Any]:
    return {
        "energy_joules": _ENERGY_BEFORE_JOULES + now[_POWER] / UNIT,
        "pcie_rx_bytes": now[_PCIE_RX] // UNIT,
        "pcie_tx_bytes": now[_PCIE_TX] // UNIT,
        "nvlink_rx_bytes": now[_NVLINK_RX] // UNIT,
        "nvlink_tx_bytes": now[_NVLINK_TX] // UNIT,
    }


def _identity(index: int) -> dict[str, Any]:
    return {
        "index": index,
        "uuid": gpu_uuid(index),
        "name": "NVIDIA H100 80GB HBM3",
        "serial": f"16547230{41200 + 37 * index}",
        "pci_bus_id": gpu_bus_id(index),
        "minor_number": index,
        "architecture": "Hopper",
        "compute_capability": "9.0",
        "numa_node": index // 4,
    }


def _constants(index: int) -> dict[str, Any]:
    return {
        "memory_used_bytes": int(71.2 * GIB) + (index * 37 % 8) * 14 * MIB,
        "memory_total_bytes": 81559 * MIB,
        "memory_reserved_bytes": 551 * MIB,
        "bar1_used_bytes": 3 * MIB,
        "bar1_total_bytes": 131072 * MIB,
        "power_limit_watts": 700.0,
        "power_limit_default_watts": 700.0,
        "temperature_slowdown_celsius": 87.0,
        "temperature_shutdown_celsius": 92.0,
        "memory_temperature_max_celsius": 95.0,
        "fan_count": 0,
        "sm_clock_max_hertz": 1980e6,
        "sm_clock_application_hertz": 1980e6,
        "memory_clock_hertz": 2619e6,
        "memory_clock_max_hertz": 2619e6,
        "pcie_generation": 5,
        "pcie_width": 16,
        "pcie_generation_max": 5,
        "pcie_width_max": 16,
        "pcie_generation_device_max": 5,
        "pcie_replays": 0,
        "ecc_enabled": True,
        "ecc_uncorrected": 0,
        "ecc_corrected": 0,
        "ecc_uncorrected_lifetime": 0,
        "remapped_rows_corrected": 0,
        "remapped_rows_uncorrected": 0,
        "remap_pending": False,
        "remap_failed": False,
        "bank_remap_pending": False,
        "channel_repair_pending": False,
        "tpc_repair_pending": False,
        "unrepairable_memory": False,
        "sram_threshold_exceeded": False,
        "recovery_action": "none",
        "fabric_state": "completed",
        "fabric_health": "healthy",
        "persistence_mode": True,
        "compute_mode": "default",
        "mig_mode": False,
        "missing": {
            "retired_pages": NOT_HOPPER,
            "retired_pages_pending": NOT_HOPPER,
            "fan_speed_ratio": NO_FANS,
            "fan_rotations_per_second": NO_FANS,
        },
    }


def _nvlink(link: int, rx_bytes: int, tx_bytes: int, stamp: float) -> NvlinkReading:
    return NvlinkReading(
        link=link,
        active=True,
        version=4,
        speed_bytes_per_second=26.562e9,
        remote="switch",
        remote_pci_bus_id=_SWITCHES[link % 4],
        stamp_seconds=stamp,
        rx_bytes=rx_bytes,
        tx_bytes=tx_bytes,
        crc_errors=0,
        replay_errors=0,
        recovery_errors=0,
    )
