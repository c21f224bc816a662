"""What is read of GPUs and their driver, with counters left as counters; units as in `sample`."""

from typing import Literal

import msgspec

from .reading import Reading


class GpuProcessReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A process that the driver says is on a GPU. ``pid`` is the driver's, in the host's namespace."""

    pid: int
    kind: Literal["compute", "graphics", "mps"] = "compute"
    memory_bytes: int | None = None
    sm_ratio: float | None = None
    """Share of the time in which one of its kernels ran."""
    gpu_instance: int | None = None
    """MIG GPU instance it runs in."""


class MigReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One MIG instance of a GPU."""

    index: int
    uuid: str | None = None
    name: str | None = None
    gpu_instance: int | None = None
    compute_instance: int | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    multiprocessors: int | None = None


class NvlinkReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One NVLink of a GPU."""

    link: int
    active: bool | None = None
    """Up; one that sleeps to save power is."""
    traffic_disabled: bool | None = None
    """Up, but nothing may go over it; ``None``: the driver does not tell."""
    version: int | None = None
    speed_bytes_per_second: float | None = None
    """What the link can carry in one direction."""
    remote: Literal["gpu", "switch", "other"] | None = None
    remote_pci_bus_id: str | None = None
    stamp_seconds: float | None = None
    """When its bytes were counted, by the driver's own clock: only differences mean anything."""
    rx_bytes: int | None = None
    tx_bytes: int | None = None
    crc_errors: int | None = None
    replay_errors: int | None = None
    recovery_errors: int | None = None


class GpuReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """One GPU. Identity first, then what moves fast, then what moves slowly."""

    index: int
    """NVML's, kept for the life of the collector even when a GPU is lost."""
    uuid: str | None = None
    name: str | None = None
    serial: str | None = None
    pci_bus_id: str | None = None
    minor_number: int | None = None
    architecture: str | None = None
    compute_capability: str | None = None
    numa_node: int | None = None
    lost: bool = False
    """The driver says that this GPU is lost: it keeps its identity and has no values."""
    fault_code: int = 0
    """The NVML code that the driver returns as for a GPU in a bad state, such as 16 or 999; 0: none."""
    failed_calls: tuple[str, ...] = ()
    """The calls that return it; empty where all do, and then there are no values."""

    utilization_ratio: float | None = None
    """Share of the time in which any kernel ran: NVML's, and the coarsest of them all."""
    memory_utilization_ratio: float | None = None
    """Share of the time in which the memory controller was busy."""
    sm_active_ratio: float | None = None
    sm_occupancy_ratio: float | None = None
    tensor_active_ratio: float | None = None
    dram_active_ratio: float | None = None

    memory_used_bytes: int | None = None
    """By allocations; the driver's reserve is apart where the driver tells (memory info v2)."""
    memory_total_bytes: int | None = None
    memory_reserved_bytes: int | None = None
    bar1_used_bytes: int | None = None
    bar1_total_bytes: int | None = None

    power_watts: float | None = None
    power_limit_watts: float | None = None
    """Enforced now, whoever set it."""
    power_limit_default_watts: float | None = None
    energy_joules: float | None = None
    """Counter since the driver was loaded."""

    temperature_celsius: float | None = None
    temperature_slowdown_celsius: float | None = None
    """The chip slows its clocks from here on."""
    temperature_shutdown_celsius: float | None = None
    memory_temperature_celsius: float | None = None
    memory_temperature_max_celsius: float | None = None

    encoder_ratio: float | None = None
    """Share of the time in which the video encoders were busy; over the driver's own window."""
    decoder_ratio: float | None = None
    """The same of those that decode video: what GPU loaders of video and JPEG wait for."""

    fan_count: int | None = None
    """Fans of the board's own; 0: the case cools it."""
    fan_speed_ratio: float | None = None
    """What the slowest one is set to, of its highest speed; a blocked fan does not do it."""
    fan_rotations_per_second: float | None = None
    """The same in rotations: also what the driver intends."""

    sm_clock_hertz: float | None = None
    sm_clock_max_hertz: float | None = None
    sm_clock_application_hertz: float | None = None
    """What a user or the defaults lock the clock to; the chip does not go above it."""
    memory_clock_hertz: float | None = None
    memory_clock_max_hertz: float | None = None
    throttle_reasons: tuple[str, ...] | None = None
    """Why the clocks are not higher, in the words of ``nvml_words.THROTTLE_REASONS``; empty: none."""
    performance_state: int | None = None

    pcie_generation: int | None = None
    pcie_width: int | None = None
    pcie_generation_max: int | None = None
    """Of card and slot together."""
    pcie_width_max: int | None = None
    pcie_generation_device_max: int | None = None
    """Of the card alone."""
    pcie_rx_bytes: int | None = None
    pcie_tx_bytes: int | None = None
    pcie_rx_bytes_per_second: float | None = None
    """Set by the source only where the driver gives a rate; else derived from the counter."""
    pcie_tx_bytes_per_second: float | None = None
    pcie_replays: int | None = None
    """Counter of link-level retries."""

    nvlink_rx_bytes: int | None = None
    """Counter over all links."""
    nvlink_tx_bytes: int | None = None
    nvlink_rx_bytes_per_second: float | None = None
    """As with PCIe: only where the driver gives a rate."""
    nvlink_tx_bytes_per_second: float | None = None
    nvlink_monotonic_seconds: float | None = None
    """When the two counters were taken, by the driver's own clock: only differences mean anything."""
    nvlinks: tuple[NvlinkReading, ...] | None = None
    """Empty: the chip has none."""
    fabric_state: str | None = None
    """Of joining the NVSwitch fabric: ``completed``, ``in progress``, ``not started``, ``failed…``"""
    fabric_health: str | None = None

    ecc_enabled: bool | None = None
    ecc_uncorrected: int | None = None
    """Counter since the driver was loaded (volatile)."""
    ecc_corrected: int | None = None
    ecc_uncorrected_lifetime: int | None = None
    remapped_rows_corrected: int | None = None
    remapped_rows_uncorrected: int | None = None
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    retired_pages: int | None = None
    retired_pages_pending: bool | None = None
    bank_remap_pending: bool | None = None
    channel_repair_pending: bool | None = None
    tpc_repair_pending: bool | None = None
    unrepairable_memory: bool | None = None
    """The chip has memory errors for which it has no repair left."""
    sram_threshold_exceeded: bool | None = None
    """More uncorrectable errors of its SRAM than NVIDIA lets a board have."""
    recovery_action: str | None = None
    """What the driver asks for: ``none``, ``gpu reset``, ``node reboot``, ``drain p2p``…"""

    persistence_mode: bool | None = None
    compute_mode: str | None = None
    mig_mode: bool | None = None
    migs: tuple[MigReading, ...] = ()
    processes: tuple[GpuProcessReading, ...] | None = None


class DriverReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """The driver as a whole."""

    driver_version: str | None = None
    nvml_version: str | None = None
    cuda_version: str | None = None
    gpu_count: int | None = None


class XidReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One error report of the driver. Recent ones are repeated in each sample."""

    time_seconds: float
    """Unix time."""
    code: int
    gpu_index: int | None = None
    gpu_uuid: str | None = None
    pid: int | None = None
    origin: Literal["nvml event", "kernel log"] = "nvml event"
    text: str = ""
    pci_bus_id: str | None = None
    """From the kernel log, where no GPU that is listed is at that address."""
    before_start: bool = False
    """It was in the kernel log when that was first read."""


_GPU_SOURCE = "nvml gpu "


def gpu_source_name(index: int) -> str:
    """Name of the source that reads the GPU of that NVML index."""
    return f"{_GPU_SOURCE}{index}"


def gpu_source_number(name: str) -> int | None:
    """The number of the GPU that a source of that name reads; ``None`` for other sources."""
    number = name.removeprefix(_GPU_SOURCE)
    return int(number) if name.startswith(_GPU_SOURCE) and number.isdecimal() else None
