"""What is read of the node without its GPUs, and of control groups; units as in `sample`."""

from typing import Literal

import msgspec

from .reading import Reading


class DiskReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One whole block device (no partitions)."""

    name: str
    read_bytes: int
    write_bytes: int
    busy_seconds: float
    """Counter: time with at least one request in flight."""
    requests: int | None = None
    """Counter: those that were answered, of reading and of writing."""
    request_seconds: float | None = None
    """Counter: how long these took, added up."""
    queue_seconds: float | None = None
    """Counter: time, times the requests in flight then."""


class NetworkReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One network interface (no loopback)."""

    name: str
    rx_bytes: int
    tx_bytes: int
    rx_dropped: int = 0
    tx_dropped: int = 0
    speed_bytes_per_second: float | None = None
    up: bool | None = None


class CpuLoad(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One CPU, as a mean over the last seconds."""

    number: int
    busy_ratio: float
    interrupt_ratio: float
    """Share of its time that went to interrupts and what they leave to do (softirq)."""


class CpuUser(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A process that keeps cores busy, whoever it belongs to."""

    pid: int
    start_time_seconds: float
    """Since boot."""
    name: str
    """As the kernel has it: 15 bytes at most."""
    cores: float
    """That it kept busy, as a mean over the last seconds."""


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
    full_cpus: int | None = None
    """That were hardly ever idle in the last seconds."""
    cpu_loads: tuple[CpuLoad, ...] | None = None
    """Of the busiest, and of the one with most interrupts; each once."""
    cpu_users: tuple[CpuUser, ...] | None = None
    """Who uses most CPU; looked for only while no core is to spare."""


class CgroupReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """The control group of one or more watched processes."""

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


class PressureReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """Pressure in the control group of one or more watched processes, as `HostReading` has the node's."""

    path: str
    """As in ``/proc/PID/cgroup``."""
    pressure_cpu_some_seconds: float | None = None
    """Counters: time in which some task of the group waited for the resource."""
    pressure_memory_some_seconds: float | None = None
    pressure_io_some_seconds: float | None = None
    pressure_io_full_seconds: float | None = None
    """All of its tasks waited."""
