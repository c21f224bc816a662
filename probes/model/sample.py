"""What was read: one instant on one node, raw, with counters left as counters.

A `Sample` is what travels (pipe, ssh, recording) and nothing else is recorded, so every field added
later needs a default and no field ever changes its meaning or unit.

Units are SI base units, named in the field: bytes, seconds, watts, hertz, degrees Celsius, and
ratios from 0 to 1. Fields without ``_per_second`` that only ever grow are counters.

A value that could not be had is ``None``, never 0, and ``missing`` maps its field name to the reason
in words. Every reading carries the moment it was taken on the node's monotonic clock: a source that
is late has its last reading sent again, and only this moment tells.
"""

from typing import Any, Literal

import msgspec

from .link_readings import GpuPathsReading, PlacementReading, PortReading, TopologyReading
from .probe_readings import ProbeReading
from .rank_readings import (
    BlockedFile,
    CommunicatorReading,
    ExitReading,
    StackReading,
    ThreadsReading,
)
from .reading import Reading

SCHEMA_VERSION = 1
"""Of the samples, and of the JSON that is printed from them."""

SourceState = Literal["ok", "absent", "unsupported", "denied", "stale", "failed"]


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


class ProcessReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """A process: one on a GPU, one above or below it in the process tree, or one asked for."""

    pid: int
    start_time_seconds: float
    """Since boot. Together with ``pid`` it names the process; a pid alone comes back."""
    parent_pid: int | None = None
    namespace_pids: tuple[int, ...] = ()
    """Its pid in each PID namespace from the host's inwards."""
    user: str | None = None
    name: str | None = None
    command: tuple[str, ...] | None = None
    """Argument vector with values that look like credentials masked."""
    state: str | None = None
    """The kernel's letter: R, S, D, T, t, Z, I, X."""
    wait_channel: str | None = None
    """Kernel function in which it sleeps."""
    threads: int | None = None
    cpu_seconds: float | None = None
    """Counter: user + system time of all its threads."""
    run_delay_seconds: float | None = None
    """Counter: how long its main thread was ready to run but had no core."""
    rss_bytes: int | None = None
    read_bytes: int | None = None
    """Counter: read from storage."""
    write_bytes: int | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None
    major_faults: int | None = None
    allowed_cpus: int | None = None
    """Size of its affinity mask."""
    cgroup: str | None = None
    container_id: str | None = None
    environment: dict[str, str] = {}
    """Only the allow-list of ``environment.ALLOWED``."""
    attached: bool = False
    """It was asked for by pid, or started what was; so it is a job, also where nothing names a rank."""
    environment_inherited: bool = False
    """It is the same as the parent's, and is therefore not repeated in ``environment``."""
    working_directory: str | None = None
    """As the process itself sees it; not repeated where the environment is not."""
    container_kind: str | None = None
    """Its runtime, in the words of ``proc_container.Container``."""
    pod_uid: str | None = None
    """Of the Kubernetes pod."""
    blocked_on: BlockedFile | None = None
    """The file at which its main thread stands still, where it does so for longer than a moment."""
    gpu_minors: tuple[int, ...] | None = None
    """Of a rank that the driver lists nowhere: minor numbers of the GPUs it has open for computing."""
    in_process_group: bool = False
    """Multiprocessing started it, and it has the threads of a process group: a rank, though its
    environment does not say so."""


class DiskReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One whole block device (no partitions)."""

    name: str
    read_bytes: int
    write_bytes: int
    busy_seconds: float
    """Counter: time with at least one request in flight."""


class NetworkReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One network interface (no loopback)."""

    name: str
    rx_bytes: int
    tx_bytes: int
    rx_dropped: int = 0
    tx_dropped: int = 0
    speed_bytes_per_second: float | None = None
    up: bool | None = None


class HostReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """The node without its GPUs."""

    cpus: int | None = None
    """Logical, online."""
    cpu_busy_seconds: float | None = None
    """Counters over all cores; busy excludes idle and waiting for IO."""
    cpu_iowait_seconds: float | None = None
    cpu_total_seconds: float | None = None
    load_1m: float | None = None
    load_5m: float | None = None
    load_15m: float | None = None
    memory_total_bytes: int | None = None
    memory_available_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_free_bytes: int | None = None
    swap_in_bytes: int | None = None
    swap_out_bytes: int | None = None
    pressure_cpu_some_seconds: float | None = None
    """Counters of pressure stall information: time in which some task waited for the resource."""
    pressure_memory_some_seconds: float | None = None
    pressure_io_some_seconds: float | None = None
    pressure_io_full_seconds: float | None = None
    shm_total_bytes: int | None = None
    shm_free_bytes: int | None = None
    disks: tuple[DiskReading, ...] | None = None
    networks: tuple[NetworkReading, ...] | None = None
    tcp_sent_segments: int | None = None
    """Counters of the whole host, retransmitted ones not included."""
    tcp_retransmitted_segments: int | None = None


class CgroupReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """The control group of one or more processes of interest."""

    path: str
    """As in ``/proc/PID/cgroup``."""
    version: Literal[1, 2]
    cpu_quota_cores: float | None = None
    """Quota over period; ``None`` with no reason in ``missing``: no limit."""
    cpu_periods: int | None = None
    """Counters."""
    cpu_throttled_periods: int | None = None
    cpu_throttled_seconds: float | None = None
    memory_used_bytes: int | None = None
    """File cache included; of the group that sets the limit, which may be one above."""
    memory_inactive_file_bytes: int | None = None
    """Part of the used: file cache that the kernel takes back first when the limit is near."""
    memory_limit_bytes: int | None = None
    """As with the quota: ``None`` without a reason is no limit."""
    oom_kills: int | None = None


def gpu_source_name(index: int) -> str:
    """Name of the source that reads the GPU of that NVML index."""
    return f"nvml gpu {index}"


class SourceStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one source fared."""

    name: str
    status: SourceState
    reason: str = ""
    monotonic_seconds: float | None = None
    """Of its last good reading."""
    duration_seconds: float | None = None
    """Of its last finished read."""
    busy_seconds: float | None = None
    """How long the read in progress has been going on, where the source is late."""


class Sample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="sample"):
    """Everything that was known of one node at one instant."""

    time_seconds: float
    """Unix time."""
    monotonic_seconds: float
    """The same instant on the node's monotonic clock."""
    sequence: int
    node: str
    interval_seconds: float = 1.0
    boot_id: str = ""
    driver: DriverReading | None = None
    gpus: tuple[GpuReading, ...] = ()
    xids: tuple[XidReading, ...] = ()
    processes: tuple[ProcessReading, ...] = ()
    cgroups: tuple[CgroupReading, ...] = ()
    host: HostReading | None = None
    probes: tuple[ProbeReading, ...] = ()
    threads: tuple[ThreadsReading, ...] = ()
    stacks: tuple[StackReading, ...] = ()
    exits: tuple[ExitReading, ...] = ()
    ports: tuple[PortReading, ...] = ()
    topology: TopologyReading | None = None
    gpu_paths: GpuPathsReading | None = None
    placements: tuple[PlacementReading, ...] = ()
    communicators: tuple[CommunicatorReading, ...] = ()
    sources: tuple[SourceStatus, ...] = ()


class Hello(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="hello"):
    """The first message of every stream."""

    schema_version: int
    program_version: str
    node: str
    pid: int
    simulated: bool = False
    """Nothing in this stream is real, and nothing in it can be signalled."""


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="reply"):
    """The answer to one command."""

    command_id: int
    ok: bool
    message: str = ""
    data: dict[str, Any] = {}
