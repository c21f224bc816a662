"""The node around the GPUs: cores, memory, disks, network, and the job's control group."""

from __future__ import annotations

from ..model.host_readings import (
    CgroupReading,
    CpuLoad,
    DiskReading,
    HostReading,
    NetworkReading,
    PressureReading,
)
from .gpus import GIB
from .timeline import MICROSECONDS

CPUS = 96
_TOTAL = 1007 * GIB
_OTHERS_CORES = 2.6
"""What everything but the job keeps busy."""


_CPU_LOADS = tuple(
    CpuLoad(number=number, busy_ratio=busy, interrupt_ratio=interrupts)
    for number, busy, interrupts in (
        (12, 0.71, 0.01),
        (60, 0.68, 0.01),
        (3, 0.66, 0.02),
        (0, 0.41, 0.06),
    )
)


def read_host(
    since_boot: int,
    job_cpu_seconds: float,
    job_read_bytes: int,
    job_loads: tuple[float, float, float],
    monotonic_seconds: float,
) -> HostReading:
    """The host.

    Args:
        since_boot: microseconds.
        job_cpu_seconds: of all the job's processes so far.
        job_read_bytes: by all the job's processes so far, over the network.
        job_loads: cores that it kept busy over the last 1, 5 and 15 minutes.
        monotonic_seconds: of the reading.
    """
    up = since_boot / MICROSECONDS
    load_1m, load_5m, load_15m = [round(_OTHERS_CORES + load, 2) for load in job_loads]
    return HostReading(
        monotonic_seconds=monotonic_seconds,
        cpus=CPUS,
        cpu_busy_seconds=_OTHERS_CORES * up + job_cpu_seconds,
        cpu_iowait_seconds=0.4 * up,
        cpu_total_seconds=CPUS * up,
        full_cpus=0,
        cpu_loads=_CPU_LOADS,
        load_1m=load_1m,
        load_5m=load_5m,
        load_15m=load_15m,
        memory_total_bytes=_TOTAL,
        memory_available_bytes=595 * GIB,
        swap_total_bytes=8 * GIB,
        swap_free_bytes=8 * GIB,
        swap_in_bytes=0,
        swap_out_bytes=0,
        pressure_cpu_some_seconds=0.006 * up,
        pressure_memory_some_seconds=0.0,
        pressure_io_some_seconds=0.021 * up,
        pressure_io_full_seconds=0.004 * up,
        shm_total_bytes=504 * GIB,
        shm_free_bytes=497 * GIB,
        disks=(
            DiskReading(
                name="nvme0n1",
                read_bytes=int(1.8e6 * up),
                write_bytes=int(3.1e6 * up),
                busy_seconds=0.004 * up,
                requests=int(22.0 * up),
                request_seconds=0.011 * up,
                queue_seconds=0.011 * up,
            ),
        ),
        tcp_sent_segments=int(310.0 * up) + job_read_bytes // 3000,
        tcp_retransmitted_segments=int(0.02 * up),
        networks=(
            NetworkReading(
                name="eth0",
                rx_bytes=int(2.1e5 * up) + job_read_bytes,
                tx_bytes=int(1.4e5 * up) + job_read_bytes // 70,
                speed_bytes_per_second=12.5e9,
                up=True,
            ),
        ),
    )


def read_cgroup(
    path: str, contained: bool, since_boot: int, monotonic_seconds: float
) -> CgroupReading:
    """The control group of the job; a container has limits, a login session has none."""
    return CgroupReading(
        path=path,
        version=2,
        monotonic_seconds=monotonic_seconds,
        cpu_quota_cores=90.0 if contained else None,
        cpu_periods=since_boot // 100_000 if contained else 0,
        cpu_throttled_periods=0,
        cpu_throttled_seconds=0.0,
        memory_used_bytes=int(352.0 * GIB),
        memory_limit_bytes=900 * GIB if contained else None,
        oom_kills=0,
    )


def read_pressure(path: str, since_boot: int, monotonic_seconds: float) -> PressureReading:
    """The pressure in the control group of the job, which is nearly all of the node's."""
    up = since_boot / MICROSECONDS
    return PressureReading(
        path=path,
        monotonic_seconds=monotonic_seconds,
        pressure_cpu_some_seconds=0.004 * up,
        pressure_memory_some_seconds=0.0,
        pressure_io_some_seconds=0.019 * up,
        pressure_io_full_seconds=0.003 * up,
    )
