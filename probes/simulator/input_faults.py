"""Scenarios in which the GPUs are fine and starve: the loader, the host, the container."""

from __future__ import annotations

from ..model.host_readings import CgroupReading, HostReading
from ..model.process_readings import ProcessReading
from .activity import TRAINING, Work
from .gpus import GIB
from .job import chance, is_worker, worker_pids
from .overlays import Fields, on_cgroups, on_host, on_processes, pressed
from .rhythm import Pace, everyone, only
from .scenario import Overlay, Scenario, Scene

STARVED: Work = {
    **TRAINING,
    "data": TRAINING["data"]._replace(utilization=0.0, power=122.0, rank_cpu=0.03),
}
SLOW_READS: Work = {
    phase: activity._replace(read=4.1e6, worker_cpu=0.21) for phase, activity in STARVED.items()
}


def in_disk_sleep(*pids: int, share: float, channel: str) -> Overlay:
    """These processes wait for a file system for that share of the time, uninterruptibly."""

    def change(process: ProcessReading, scene: Scene) -> Fields:
        if chance(process.pid, int(scene.elapsed_seconds * 4) + 1_000_003) > share:
            return {}
        return {"state": "D", "wait_channel": channel}

    return on_processes(change, lambda process: process.pid in pids)


ALL_WORKERS = tuple(pid for rank in range(8) for pid in worker_pids(rank))


def _waiting(host: HostReading, scene: Scene) -> Fields:
    """The kernel counts those in disk sleep into the load."""
    return {"load_1m": round((host.load_1m or 0.0) + scene.ramp(0.0, 26.0, 60.0), 2)}


INPUT_BOUND = Scenario(
    name="input-bound",
    summary="All ranks wait a third of each step for data from a slow NFS server.",
    finds=("INP704", "INP701", "HW210"),
    onset_seconds=-90.0,
    stages=(everyone(-90.0, Pace(data=1.30, work=SLOW_READS)),),
    overlays=(
        in_disk_sleep(*ALL_WORKERS, share=0.62, channel="rpc_wait_bit_killable"),
        pressed(
            pressure_io_some_seconds=0.61, pressure_io_full_seconds=0.34, cpu_iowait_seconds=20.0
        ),
        on_host(_waiting),
    ),
)

STRAGGLER = Scenario(
    name="straggler",
    summary="Rank 3 is late with its data in every step; the other seven spin until it comes.",
    finds=("RUN407", "HW210"),
    about="rank 3",
    onset_seconds=-90.0,
    stages=(only(-90.0, 3, Pace(data=1.9, work=SLOW_READS)),),
    overlays=(
        in_disk_sleep(*worker_pids(3), share=0.65, channel="rpc_wait_bit_killable"),
        pressed(pressure_io_some_seconds=0.28, cpu_iowait_seconds=3.0),
    ),
)


def _held_back(group: CgroupReading, scene: Scene) -> Fields:
    periods = int(scene.grown(10.0))
    return {
        "cpu_quota_cores": 20.0,
        "cpu_throttled_periods": periods * 2 // 5,
        "cpu_throttled_seconds": scene.grown(6.8),
    }


CPU_THROTTLED = Scenario(
    name="cpu-throttled",
    summary="The container's CPU quota is too small: the loaders are held back 40 % of the time.",
    finds=("HST110", "HST111", "INP701"),
    about="docker-8f3c1d9a5be2",
    onset_seconds=-90.0,
    in_container=True,
    stages=(
        everyone(
            -90.0,
            Pace(
                data=0.62,
                work={
                    phase: activity._replace(worker_cpu=0.38, rank_cpu=activity.rank_cpu * 0.92)
                    for phase, activity in STARVED.items()
                },
            ),
        ),
    ),
    overlays=(on_cgroups(_held_back), pressed(pressure_cpu_some_seconds=0.44)),
)


def _thrashing(host: HostReading, scene: Scene) -> Fields:
    return {
        "memory_available_bytes": int(scene.ramp(595 * GIB, 2.4 * GIB, 15.0)),
        "swap_total_bytes": 64 * GIB,
        "swap_free_bytes": int(scene.ramp(60.0, 11.0, 180.0) * GIB),
        "swap_in_bytes": int(scene.grown(68e6)),
        "swap_out_bytes": int(scene.grown(51e6)),
    }


def _swapped_out(process: ProcessReading, scene: Scene) -> Fields:
    return {"major_faults": (process.major_faults or 0) + int(scene.grown(510.0))}


SWAP = Scenario(
    name="swap",
    summary="The host is out of memory and swaps: loader workers wait for their own pages.",
    finds=("HST109", "INP701"),
    about="host",
    onset_seconds=-90.0,
    stages=(everyone(-90.0, Pace(data=0.45, work=STARVED)),),
    overlays=(
        on_host(_thrashing),
        on_processes(_swapped_out, is_worker),
        pressed(
            pressure_memory_some_seconds=0.36,
            pressure_io_some_seconds=0.22,
            cpu_iowait_seconds=6.0,
        ),
    ),
)
