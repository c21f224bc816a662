"""The table of what gputop and nvidia-smi both tell of a GPU, and how far apart the two may be.

What stands still must be the same. What moves was read by the two at most some tenths of a second apart, and
has a tolerance for that: ``slack`` in the field's unit, or ``slack_share`` of the larger value.
"""

from __future__ import annotations

from typing import NamedTuple

from .smi_xml import MIB, Path, first, flag, lower, one_of, reasons, threshold, times, total, words

_MHZ, _KIB = 1e6, 1024
_LINK = "pci/pci_gpu_link_info"


class Value(NamedTuple):
    """One row."""

    field: str
    """In ``gpus`` of ``gputop --once --format json``."""
    path: Path
    slack: float = 0.0
    slack_share: float = 0.0
    judged: bool = True
    """Else it is shown only: the two are means over other spans of time."""


_RECOVERY = {
    "Reset": "gpu reset",
    "Reboot": "node reboot",
    "Drain P2P": "drain p2p",
    "Drain and Reset": "drain and reset",
}
_COMPUTE_MODES = {"E. Process": "exclusive process", "E. Thread": "exclusive thread"}
_REASONS = {
    "gpu_idle": "gpu idle",
    "applications_clocks_setting": "application clocks",
    "sw_power_cap": "sw power cap",
    "hw_slowdown": "hw slowdown",
    "sync_boost": "sync boost",
    "sw_thermal_slowdown": "sw thermal slowdown",
    "hw_thermal_slowdown": "hw thermal slowdown",
    "hw_power_brake_slowdown": "hw power brake",
    "display_clocks_setting": "display clocks",
    "display_clock_setting": "display clocks",
}


def _ecc(span: str, *kinds: str) -> Path:
    return total(*(f"ecc_errors/{span}/{kind}" for kind in kinds))


_UNCORRECTED = (
    *("sram_uncorrectable", "sram_uncorrectable_parity", "sram_uncorrectable_secded"),
    *("dram_uncorrectable", "double_bit/total"),
)
_CORRECTED = ("sram_correctable", "dram_correctable", "single_bit/total")

IDENTITY = (
    Value("uuid", first("uuid", convert=words)),
    Value("name", first("product_name", convert=words)),
    Value("serial", first("serial", convert=words)),
    Value("pci_bus_id", first("pci/pci_bus_id", convert=words)),
    Value("minor_number", first("minor_number", convert=times(1))),
    Value("architecture", first("product_architecture", convert=lambda text: text.split()[0])),
    Value("persistence_mode", first("persistence_mode", convert=flag)),
    Value("compute_mode", first("compute_mode", convert=one_of(_COMPUTE_MODES))),
    Value("mig_mode", first("mig_mode/current_mig", convert=flag)),
)
WORK = (
    Value("utilization_ratio", first("utilization/gpu_util", convert=times(0.01)), 0.3),
    Value("memory_utilization_ratio", first("utilization/memory_util", convert=times(0.01)), 0.3),
    Value("encoder_ratio", first("utilization/encoder_util", convert=times(0.01)), 0.3),
    Value("decoder_ratio", first("utilization/decoder_util", convert=times(0.01)), 0.3),
    Value("memory_used_bytes", first("fb_memory_usage/used", convert=times(MIB)), 64 * MIB, 0.02),
    Value("memory_total_bytes", first("fb_memory_usage/total", convert=times(MIB)), MIB),
    Value("memory_reserved_bytes", first("fb_memory_usage/reserved", convert=times(MIB)), 2 * MIB),
    Value("bar1_used_bytes", first("bar1_memory_usage/used", convert=times(MIB)), 16 * MIB),
    Value("bar1_total_bytes", first("bar1_memory_usage/total", convert=times(MIB)), MIB),
)
_POWER = ("gpu_power_readings", "power_readings")
POWER = (
    Value(
        "power_watts",
        first(
            *(f"{_POWER[0]}/{name}" for name in ("average_power_draw", "power_draw")),
            f"{_POWER[1]}/power_draw",
            convert=times(1),
        ),
        15,
        0.15,
    ),
    Value(
        "power_limit_watts",
        first(
            f"{_POWER[0]}/current_power_limit",
            f"{_POWER[1]}/enforced_power_limit",
            f"{_POWER[1]}/power_limit",
            convert=times(1),
        ),
        0.01,
    ),
    Value(
        "power_limit_default_watts",
        first(*(f"{group}/default_power_limit" for group in _POWER), convert=times(1)),
        0.01,
    ),
    Value("temperature_celsius", first("temperature/gpu_temp", convert=times(1)), 4),
    Value("temperature_slowdown_celsius", threshold("slow"), 3),
    Value("temperature_shutdown_celsius", threshold("max"), 3),
    Value("memory_temperature_celsius", first("temperature/memory_temp", convert=times(1)), 4),
    Value(
        "memory_temperature_max_celsius",
        first("temperature/gpu_temp_max_mem_threshold", convert=times(1)),
    ),
    Value("fan_speed_ratio", first("fan_speed", convert=times(0.01)), 0.1),
    Value("performance_state", first("performance_state", convert=lambda text: float(text[1:])), 2),
    Value("throttle_reasons", reasons(_REASONS)),
)
_CLOCK_SLACK = (100 * _MHZ, 0.15)
CLOCKS = (
    Value("sm_clock_hertz", first("clocks/sm_clock", convert=times(_MHZ)), *_CLOCK_SLACK),
    Value("memory_clock_hertz", first("clocks/mem_clock", convert=times(_MHZ)), *_CLOCK_SLACK),
    Value("sm_clock_max_hertz", first("max_clocks/sm_clock", convert=times(_MHZ))),
    Value("memory_clock_max_hertz", first("max_clocks/mem_clock", convert=times(_MHZ))),
    Value(
        "sm_clock_application_hertz",
        first("applications_clocks/graphics_clock", convert=times(_MHZ)),
    ),
)
LINKS = (
    Value(
        "pcie_generation", first(f"{_LINK}/pcie_gen/current_link_gen", convert=times(1)), 4
    ),  # idle ones sleep in generation 1
    Value("pcie_generation_max", first(f"{_LINK}/pcie_gen/max_link_gen", convert=times(1))),
    Value(
        "pcie_generation_device_max",
        first(f"{_LINK}/pcie_gen/max_device_link_gen", convert=times(1)),
    ),
    Value("pcie_width", first(f"{_LINK}/link_widths/current_link_width", convert=times(1))),
    Value("pcie_width_max", first(f"{_LINK}/link_widths/max_link_width", convert=times(1))),
    Value("pcie_replays_total", first("pci/replay_counter", convert=times(1))),
    Value(
        "pcie_rx_bytes_per_second", first("pci/rx_util", convert=times(_KIB)), judged=False
    ),  # nvidia-smi's is of 20 ms, and in KiB
    Value("pcie_tx_bytes_per_second", first("pci/tx_util", convert=times(_KIB)), judged=False),
    Value("fabric_state", first("fabric/state", convert=lower)),
    Value("fabric_health", first("fabric/health/summary", convert=lower)),
)
HEALTH = (
    Value("ecc_enabled", first("ecc_mode/current_ecc", convert=flag)),
    Value("ecc_uncorrected_errors_total", _ecc("volatile", *_UNCORRECTED)),
    Value("ecc_corrected_errors_total", _ecc("volatile", *_CORRECTED)),
    Value("ecc_uncorrected_errors_lifetime_total", _ecc("aggregate", *_UNCORRECTED)),
    Value(
        "remapped_rows_corrected_total", first("remapped_rows/remapped_row_corr", convert=times(1))
    ),
    Value(
        "remapped_rows_uncorrected_total", first("remapped_rows/remapped_row_unc", convert=times(1))
    ),
    Value("remap_pending", first("remapped_rows/remapped_row_pending", convert=flag)),
    Value("remap_failed", first("remapped_rows/remapped_row_failure", convert=flag)),
    Value(
        "retired_pages_total",
        total(
            "retired_pages/multiple_single_bit_retirement/retired_count",
            "retired_pages/double_bit_retirement/retired_count",
        ),
    ),
    Value(
        "retired_pages_pending",
        first("retired_pages/pending_retirement", "retired_pages/pending_blacklist", convert=flag),
    ),
    Value("channel_repair_pending", first(".//channel_repair_pending", convert=flag)),
    Value("tpc_repair_pending", first(".//tpc_repair_pending", convert=flag)),
    Value("unrepairable_memory", first(".//unrepairable_memory", convert=flag)),
    Value(
        "sram_threshold_exceeded",
        first("ecc_errors/aggregate/sram_threshold_exceeded", convert=flag),
    ),
    Value("recovery_action", first("gpu_recovery_action", convert=one_of(_RECOVERY))),
)
VALUES = (*IDENTITY, *WORK, *POWER, *CLOCKS, *LINKS, *HEALTH)

ONLY_GPUTOP = frozenset(
    {
        *("index", "compute_capability", "numa_node", "energy_joules_total", "fan_count"),
        *("sm_active_ratio", "sm_occupancy_ratio", "tensor_active_ratio", "dram_active_ratio"),
        *("fan_rotations_per_second", "bank_remap_pending"),
        *("pcie_rx_bytes_total", "pcie_tx_bytes_total"),
        *("nvlink_rx_bytes_total", "nvlink_tx_bytes_total"),
        *("nvlink_rx_bytes_per_second", "nvlink_tx_bytes_per_second"),
    }
)
"""Read from the driver, and in none of nvidia-smi's XML."""
