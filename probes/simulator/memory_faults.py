"""Scenarios about device memory, and who else is on a GPU."""

from __future__ import annotations

import msgspec

from ..model.gpu_readings import GpuProcessReading, GpuReading
from ..model.host_readings import CgroupReading, HostReading
from ..model.process_readings import ProcessReading
from ..model.sample import Sample
from .activity import TRAINING, Activity
from .gpus import GIB, MIB
from .overlays import Fields, on_gpus, on_host
from .rhythm import FOR_EVER, RANKS, Pace, everyone, only
from .scenario import Scenario, Scene

_ALL = tuple(range(RANKS))


def _fuller(gpu: GpuReading, scene: Scene) -> Fields:
    more = int(scene.ramp(0.0, (7.95 - 0.03 * gpu.index) * GIB, 45.0))
    return {
        "memory_used_bytes": (gpu.memory_used_bytes or 0) + more,
        "processes": tuple(
            msgspec.structs.replace(on, memory_bytes=(on.memory_bytes or 0) + more)
            for on in gpu.processes or ()
        ),
    }


MEMORY_FULL = Scenario(
    name="memory-full",
    summary="Device memory has grown until 99 % of it is in use on every GPU.",
    finds=("MEM301",),
    about="GPU 0",
    onset_seconds=-110.0,
    overlays=(on_gpus(_fuller, *_ALL),),
)

_IDLE = Activity(
    power=71.0, sm_clock=345e6, pcie_rx=0.0, pcie_tx=0.0, read=0.0, rank_cpu=0.0, worker_cpu=0.0
)
_GONE = Pace(data=FOR_EVER, work={**TRAINING, "data": _IDLE})


def _left_over(gpu: GpuReading, scene: Scene) -> Fields:
    used = 40 * GIB if gpu.index == 1 else 3 * MIB
    return {"memory_used_bytes": used, "bar1_used_bytes": 2 * MIB, "processes": ()}


def _without_job(sample: Sample, scene: Scene) -> Sample:
    if scene.since < 0:
        return sample
    return msgspec.structs.replace(sample, processes=(), cgroups=(), probes=())


def _roomy(host: HostReading, scene: Scene) -> Fields:
    return {"memory_available_bytes": 978 * GIB}


ORPHAN_MEMORY = Scenario(
    name="orphan-memory",
    summary="The job has exited; 40 GiB of GPU 1 stay in use and no process holds them.",
    finds=("MEM302",),
    about="GPU 1",
    onset_seconds=-75.0,
    stages=(everyone(-75.0, _GONE),),
    overlays=(_without_job, on_host(_roomy), on_gpus(_left_over, *_ALL)),
)

_TENANT_GPU = 5
_TENANT_PID = 70311
_TENANT_MEMORY = int(1.6 * GIB)
_TENANT_CGROUP = "/user.slice/user-1033.slice/session-57.scope"


def _shared(gpu: GpuReading, scene: Scene) -> Fields:
    tenant = GpuProcessReading(pid=_TENANT_PID, memory_bytes=_TENANT_MEMORY, sm_ratio=0.31)
    return {
        "memory_used_bytes": (gpu.memory_used_bytes or 0) + _TENANT_MEMORY,
        "processes": (*(gpu.processes or ()), tenant),
    }


def _with_tenant(sample: Sample, scene: Scene) -> Sample:
    if scene.since < 0:
        return sample
    tenant = ProcessReading(
        monotonic_seconds=sample.monotonic_seconds,
        pid=_TENANT_PID,
        start_time_seconds=scene.zero_monotonic_seconds + scene.onset_seconds - 12.0,
        parent_pid=70288,
        namespace_pids=(_TENANT_PID,),
        user="kai",
        name="python3",
        command=("python3", "-m", "ipykernel_launcher", "-f", "kernel-58.json"),
        state="S",
        wait_channel="do_epoll_wait",
        threads=41,
        cpu_seconds=9.0 + scene.grown(0.6),
        run_delay_seconds=scene.grown(0.001),
        rss_bytes=int(3.2 * GIB),
        read_bytes=620_000_000,
        write_bytes=1_400_000,
        voluntary_switches=int(scene.grown(90.0)),
        involuntary_switches=int(scene.grown(2.0)),
        major_faults=31,
        allowed_cpus=96,
        cgroup=_TENANT_CGROUP,
        missing={"container_id": "not in a container"},
    )
    group = CgroupReading(
        path=_TENANT_CGROUP,
        version=2,
        monotonic_seconds=sample.monotonic_seconds,
        cpu_periods=0,
        cpu_throttled_periods=0,
        cpu_throttled_seconds=0.0,
        memory_used_bytes=int(3.6 * GIB),
        oom_kills=0,
    )
    return msgspec.structs.replace(
        sample,
        processes=(*sample.processes, tenant),
        cgroups=(*sample.cgroups, group),
    )


OTHER_TENANT = Scenario(
    name="other-tenant",
    summary="Another user's notebook computes on GPU 5; the job's rank there is slower.",
    finds=("ENV601", "RUN407"),
    about="GPU 5",
    onset_seconds=-90.0,
    stages=(only(-90.0, _TENANT_GPU, Pace(forward=0.86, backward=1.62)),),
    overlays=(_with_tenant, on_gpus(_shared, _TENANT_GPU)),
)
