"""Healthy processes that wait for somebody to give them work: servers, a notebook."""

from __future__ import annotations

from msgspec.structs import replace

from ..model.gpu_readings import GpuProcessReading
from ..model.process_readings import ProcessReading
from ..model.sample import Sample
from .activity import TRAINING, computing
from .awkward_from_the_start import ALL_RANKS, ALWAYS, IDLE, IDLE_FOR_EVER
from .gpus import GIB, MIB
from .rhythm import Pace, everyone
from .scenario import Overlay, Scenario, Scene


def _server(pid: int, index: int, moment: float, cores: float) -> ProcessReading:
    return ProcessReading(
        monotonic_seconds=moment,
        pid=pid,
        start_time_seconds=900_000.0 + index,
        parent_pid=71000,
        namespace_pids=(pid,),
        user="serve",
        name="VLLM::Worker_TP" if index else "python",
        command=("/opt/venv/bin/python", "-m", "vllm.entrypoints.openai.api_server"),
        state="S" if cores < 0.5 else "R",
        wait_channel="do_epoll_wait" if cores < 0.5 else "0",
        threads=90,
        cpu_seconds=cores * moment,
        run_delay_seconds=0.0,
        rss_bytes=6 * GIB,
        read_bytes=140 * GIB,
        write_bytes=1_000_000,
        voluntary_switches=int(90 * moment),
        involuntary_switches=int(2 * moment),
        major_faults=31,
        allowed_cpus=96,
        cgroup="/system.slice/vllm.service",
        missing={"container_id": "not in a container"},
    )


def _serving(cores: float) -> Overlay:
    """An inference server has all GPUs, and there is no training job."""

    def overlay(sample: Sample, scene: Scene) -> Sample:
        pids = [72000 + index for index in ALL_RANKS]
        moment = sample.monotonic_seconds
        gpus = tuple(
            [
                replace(
                    gpu,
                    processes=(GpuProcessReading(pid=pids[gpu.index], memory_bytes=70 * GIB),),
                )
                for gpu in sample.gpus
            ]
        )
        processes = tuple([_server(pid, index, moment, cores) for index, pid in enumerate(pids)])
        return replace(
            sample, gpus=gpus, processes=processes, cgroups=(), probes=(), limits=(), placements=()
        )

    return overlay


IDLE_SERVER = Scenario(
    name="idle-server",
    summary="Healthy: an inference server holds the memory of all GPUs and waits for requests.",
    nearly=("HW210", "RUN404"),
    onset_seconds=ALWAYS,
    stages=(everyone(ALWAYS, IDLE_FOR_EVER),),
    overlays=(_serving(0.02),),
)

_DECODING = computing(
    TRAINING,
    utilization=0.93,
    memory_utilization=0.6,
    sm_active=0.34,
    sm_occupancy=0.12,
    tensor_active=0.05,
    dram_active=0.6,
    power=330.0,
    sm_clock=1965e6,
    nvlink_rx=11e9,
    nvlink_tx=11e9,
)

BUSY_SERVER = Scenario(
    name="busy-server",
    summary="Healthy: an inference server decodes in bursts, with pauses of some seconds between them.",
    nearly=("HW210", "HW211"),
    onset_seconds=ALWAYS,
    stages=(
        everyone(
            ALWAYS,
            Pace(data=2.5, forward=5.0, backward=0.8, work={**_DECODING, "data": IDLE}),
        ),
    ),
    overlays=(_serving(0.9),),
)

_NOTEBOOK_PID = 70311


def _notebook(sample: Sample, scene: Scene) -> Sample:
    """A kernel holds memory of GPU 0, and its user thinks."""
    kernel = replace(
        _server(_NOTEBOOK_PID, 0, sample.monotonic_seconds, 0.01),
        user="kai",
        name="python3",
        command=("python3", "-m", "ipykernel_launcher", "-f", "kernel-58.json"),
        cgroup="/user.slice/user-1033.slice/session-57.scope",
    )
    on_first = (GpuProcessReading(pid=_NOTEBOOK_PID, memory_bytes=11 * GIB),)
    gpus = tuple(
        [
            replace(
                gpu,
                memory_used_bytes=(11 * GIB + 600 * MIB) if gpu.index == 0 else 600 * MIB,
                processes=on_first if gpu.index == 0 else (),
            )
            for gpu in sample.gpus
        ]
    )
    return replace(
        sample, gpus=gpus, processes=(kernel,), cgroups=(), probes=(), limits=(), placements=()
    )


NOTEBOOK = Scenario(
    name="notebook",
    summary="Healthy: a notebook keeps 11 GiB of GPU 0 while its user thinks; the other GPUs are free.",
    nearly=("HW210", "RUN404"),
    onset_seconds=ALWAYS,
    stages=(everyone(ALWAYS, IDLE_FOR_EVER),),
    overlays=(_notebook,),
)
