"""What is read of the healthy node of `support.rules_scenes`, thing by thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gputop.probes.model.gpu_readings import XidReading
from gputop.probes.model.host_readings import CgroupReading, HostReading
from gputop.probes.model.kernel_log import KernelLogKind, KernelLogReading
from gputop.probes.model.link_readings import PortReading
from gputop.probes.model.probe_readings import ProbeReading
from gputop.probes.model.process_readings import ProcessReading

UNIX = 1_800_000_000.0
BEGAN = 10_000.0
"""Monotonic seconds at second 0 of every script."""
GPUS = 8
WORKERS = 1
LAUNCHER = 900
GIB = 1 << 30
JOB_GROUP = "/job"


def rank_pid(index: int) -> int:
    """Of the rank on that GPU."""
    return 1000 + index


def worker_pid(index: int, number: int = 0) -> int:
    """Of a worker of that rank."""
    return 2000 + 10 * index + number


def process(pid: int, moment: float, **fields: Any) -> ProcessReading:
    """A process that has run for long, with half a core busy."""
    given: dict[str, Any] = {
        "pid": pid,
        "monotonic_seconds": moment,
        "start_time_seconds": 5000.0,
        "parent_pid": 1,
        "user": "ada",
        "name": "python",
        "command": ("python", "train.py"),
        "state": "S",
        "cpu_seconds": 0.5 * moment,
        "run_delay_seconds": 0.0,
        "voluntary_switches": int(200 * moment),
        "read_bytes": int(1e6 * moment),
        "allowed_cpus": 96,
        "cgroup": JOB_GROUP,
    }
    return ProcessReading(**{**given, **fields})


def healthy_host(moment: float) -> HostReading:
    return HostReading(
        monotonic_seconds=moment,
        cpus=96,
        cpu_busy_seconds=36 * moment,
        cpu_iowait_seconds=0.1 * moment,
        cpu_total_seconds=96 * moment,
        load_1m=40.0,
        memory_total_bytes=1000 * GIB,
        memory_available_bytes=600 * GIB,
        swap_in_bytes=0,
        swap_out_bytes=0,
        pressure_cpu_some_seconds=0.02 * moment,
        pressure_memory_some_seconds=0.0,
        pressure_io_some_seconds=0.01 * moment,
        pressure_io_full_seconds=0.0,
        disks=(),
        networks=(),
        tcp_sent_segments=int(5000 * moment),
        tcp_retransmitted_segments=int(0.5 * moment),
    )


def healthy_cgroup(moment: float) -> CgroupReading:
    return CgroupReading(
        path=JOB_GROUP,
        version=2,
        monotonic_seconds=moment,
        cpu_periods=int(10 * moment),
        cpu_throttled_periods=0,
        cpu_throttled_seconds=0.0,
        memory_used_bytes=300 * GIB,
        oom_kills=0,
    )


SPINNING: Mapping[str, Any] = {
    "utilization_ratio": 1.0,
    "sm_active_ratio": 0.03,
    "power_watts": 141.0,
    "sm_clock_hertz": 1980e6,
    "pcie_rx_bytes": 10**12,
    "pcie_tx_bytes": 10**12,
    "nvlink_rx_bytes": 10**12,
    "nvlink_tx_bytes": 10**12,
}
"""A GPU in a collective that somebody never joins."""


IDLE: Mapping[str, Any] = {
    **SPINNING,
    "utilization_ratio": 0.0,
    "sm_active_ratio": 0.0,
    "power_watts": 118.0,
}
LOW: Mapping[str, Any] = {"utilization_ratio": 0.3, "sm_active_ratio": 0.25, "power_watts": 210.0}
"""Kernels run, and much of the time none."""
"""A GPU whose rank gives it nothing to do."""


def xid(second: float, code: int, gpu: int | None = 3, **fields: Any) -> XidReading:
    """An Xid at that second."""
    return XidReading(time_seconds=UNIX + second, code=code, gpu_index=gpu, **fields)


def log_line(second: float | None, kind: KernelLogKind, **fields: Any) -> KernelLogReading:
    """A line of the kernel's log at that second; without one, of a log that has no times."""
    moment = None if second is None else UNIX + second
    given = {"time_seconds": moment, "first_time_seconds": moment, "text": f"a line of {kind}"}
    return KernelLogReading(kind=kind, **{**given, **fields})


def gpu_slot(index: int) -> str:
    """Where the NVIDIA driver says that GPU is, without the function."""
    return f"0000:{index + 16:02x}:00"


def probe(index: int, second: float, phase: str, age: float) -> ProbeReading:
    """What the probe in the rank on that GPU tells."""
    return ProbeReading(
        monotonic_seconds=BEGAN + second,
        pid=rank_pid(index),
        start_time_seconds=5001.0,
        phase=phase,
        phase_monotonic_seconds=BEGAN + second - age,
    )


def port(second: float, number: int = 0, **fields: Any) -> PortReading:
    """A port of 400 Gbit/s that carries 24 GB/s each way and has no trouble."""
    given: dict[str, Any] = {
        "monotonic_seconds": BEGAN + second,
        "device": f"mlx5_{number}",
        "port": 1,
        "driver": "mlx5_core",
        "model": "MT4129",
        "link_layer": "infiniband",
        "state": "active",
        "physical_state": "linkup",
        "rate_bytes_per_second": 50e9,
        "lanes": 4,
        "speed": "NDR",
        "data_counter_bits": 64,
        "rx_bytes": int(24e9 * (BEGAN + second)),
        "tx_bytes": int(24e9 * (BEGAN + second)),
        "rx_packets": int(6e6 * (BEGAN + second)),
        "tx_packets": int(6e6 * (BEGAN + second)),
        "wait_ticks": 0,
        "counters": {"symbol_error": 0, "out_of_sequence": 0},
    }
    return PortReading(**{**given, **fields})


def on_many_nodes(world_size: int = 32, **more: str) -> Mapping[int, Mapping[str, Any]]:
    """The ranks of a job of which this node has eight, and their workers, who have the same variables."""
    changes: dict[int, Mapping[str, Any]] = {}
    for index in range(GPUS):
        environment = {
            "RANK": str(index),
            "LOCAL_RANK": str(index),
            "WORLD_SIZE": str(world_size),
            "MASTER_ADDR": "node1",
            "MASTER_PORT": "29500",
            **more,
        }
        for pid in (rank_pid(index), *(worker_pid(index, number) for number in range(WORKERS))):
            changes[pid] = {"environment": environment}
    return changes
