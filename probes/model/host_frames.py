"""The node without its GPUs, and control groups, with rates worked out."""

from __future__ import annotations

from .host_readings import CgroupReading, DiskReading, HostReading, NetworkReading, PressureReading


class DiskFrame(DiskReading, frozen=True, kw_only=True, omit_defaults=False):
    read_bytes_per_second: float | None = None
    write_bytes_per_second: float | None = None
    busy_ratio: float | None = None
    await_seconds: float | None = None
    """How long a request took that was answered since the previous frame; ``None``: there was none."""
    queue_length: float | None = None
    """Requests in flight, as a mean since the previous frame."""


class NetworkFrame(NetworkReading, frozen=True, kw_only=True, omit_defaults=False):
    rx_bytes_per_second: float | None = None
    tx_bytes_per_second: float | None = None
    dropped_per_second: float | None = None
    dropped_since_start: int = 0
    """Growth since this monitor first saw the counter."""


class HostFrame(HostReading, frozen=True, kw_only=True, omit_defaults=False):
    """The node; ratios are over all cores since the previous frame."""

    cpu_ratio: float | None = None
    cpu_iowait_ratio: float | None = None
    swap_in_bytes_per_second: float | None = None
    swap_out_bytes_per_second: float | None = None
    pressure_cpu_ratio: float | None = None
    pressure_memory_ratio: float | None = None
    pressure_io_ratio: float | None = None
    pressure_io_full_ratio: float | None = None
    read_bytes_per_second: float | None = None
    """Over all disks."""
    write_bytes_per_second: float | None = None
    rx_bytes_per_second: float | None = None
    """Over all network interfaces."""
    tx_bytes_per_second: float | None = None
    disks: tuple[DiskFrame, ...] | None = None
    networks: tuple[NetworkFrame, ...] | None = None
    tcp_retransmissions_per_second: float | None = None
    tcp_retransmission_ratio: float | None = None
    """Of the segments sent since the previous frame."""
    age_seconds: float = 0.0
    tcp_segments_per_second: float | None = None
    """Sent for the first time: those sent again are not among them."""


class CgroupFrame(CgroupReading, frozen=True, kw_only=True, omit_defaults=False):
    throttled_ratio: float | None = None
    """Share of the scheduling periods since the previous frame in which it was held back."""
    oom_kills_since_start: int | None = None
    pids: tuple[int, ...] = ()
    """Of the watched processes in it."""


class PressureFrame(PressureReading, frozen=True, kw_only=True, omit_defaults=False):
    """Shares of the time since the reading before, which is some seconds."""

    pressure_cpu_ratio: float | None = None
    pressure_memory_ratio: float | None = None
    pressure_io_ratio: float | None = None
    pressure_io_full_ratio: float | None = None
