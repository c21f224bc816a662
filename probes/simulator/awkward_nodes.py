"""Healthy nodes that look odd: other work than training, other GPUs, counters that are not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ..model.gpu_readings import GpuProcessReading, GpuReading, MigReading
from ..model.host_readings import HostReading
from ..model.process_readings import ProcessReading
from ..model.rank_readings import ExitReading
from ..model.sample import Sample
from .activity import TRAINING, computing
from .gpus import GIB, MIB
from .job import LAUNCHER_PID, chance, rank_pid, worker_pids
from .overlays import Fields, on_gpus, on_host, pressed
from .rhythm import FOR_EVER, RANKS, Pace, everyone
from .scenario import Overlay, Scenario, Scene

_ALWAYS = -2000.0
_ALL = tuple(range(RANKS))
_replace = msgspec.structs.replace
_IDLE = TRAINING["idle"]
_IDLE_FOR_EVER = Pace(data=FOR_EVER, work={**TRAINING, "data": _IDLE})


def _always(change: Callable[[GpuReading, Scene], Fields], *indices: int) -> Overlay:
    return on_gpus(change, *(indices or _ALL))


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
        pids = [72000 + index for index in _ALL]
        moment = sample.monotonic_seconds
        gpus = tuple(
            [
                _replace(
                    gpu,
                    processes=(GpuProcessReading(pid=pids[gpu.index], memory_bytes=70 * GIB),),
                )
                for gpu in sample.gpus
            ]
        )
        processes = tuple([_server(pid, index, moment, cores) for index, pid in enumerate(pids)])
        return _replace(
            sample, gpus=gpus, processes=processes, cgroups=(), probes=(), limits=(), placements=()
        )

    return overlay


IDLE_SERVER = Scenario(
    name="idle-server",
    summary="Healthy: an inference server holds the memory of all GPUs and waits for requests.",
    nearly=("HW210", "RUN404"),
    onset_seconds=_ALWAYS,
    stages=(everyone(_ALWAYS, _IDLE_FOR_EVER),),
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
    onset_seconds=_ALWAYS,
    stages=(
        everyone(
            _ALWAYS,
            Pace(data=2.5, forward=5.0, backward=0.8, work={**_DECODING, "data": _IDLE}),
        ),
    ),
    overlays=(_serving(0.9),),
)

_NOTEBOOK_PID = 70311


def _notebook(sample: Sample, scene: Scene) -> Sample:
    """A kernel holds memory of GPU 0, and its user thinks."""
    kernel = _replace(
        _server(_NOTEBOOK_PID, 0, sample.monotonic_seconds, 0.01),
        user="kai",
        name="python3",
        command=("python3", "-m", "ipykernel_launcher", "-f", "kernel-58.json"),
        cgroup="/user.slice/user-1033.slice/session-57.scope",
    )
    on_first = (GpuProcessReading(pid=_NOTEBOOK_PID, memory_bytes=11 * GIB),)
    gpus = tuple(
        [
            _replace(
                gpu,
                memory_used_bytes=(11 * GIB + 600 * MIB) if gpu.index == 0 else 600 * MIB,
                processes=on_first if gpu.index == 0 else (),
            )
            for gpu in sample.gpus
        ]
    )
    return _replace(
        sample, gpus=gpus, processes=(kernel,), cgroups=(), probes=(), limits=(), placements=()
    )


NOTEBOOK = Scenario(
    name="notebook",
    summary="Healthy: a notebook keeps 11 GiB of GPU 0 while its user thinks; the other GPUs are free.",
    nearly=("HW210", "RUN404"),
    onset_seconds=_ALWAYS,
    stages=(everyone(_ALWAYS, _IDLE_FOR_EVER),),
    overlays=(_notebook,),
)

_RESTART_SECONDS = 12.0
_MOVED = 4000


def _restarted(sample: Sample, scene: Scene) -> Sample:
    """torchrun has ended the ranks after a failure on another node, and started them anew."""
    if scene.since < 0:
        return sample
    since = scene.since
    ranks = {rank_pid(rank) for rank in _ALL}
    gone = ranks | {pid for rank in _ALL for pid in worker_pids(rank)}
    ended = scene.zero_monotonic_seconds + scene.onset_seconds
    exits = tuple(
        [
            ExitReading(
                pid=probe.pid,
                start_time_seconds=probe.start_time_seconds,
                monotonic_seconds=ended,
                signal=15,
            )
            for probe in sample.probes
            if since < 60.0
        ]
    )
    if since < _RESTART_SECONDS:
        return _replace(
            sample,
            processes=tuple([each for each in sample.processes if each.pid not in gone]),
            gpus=tuple([_replace(gpu, processes=()) for gpu in sample.gpus]),
            probes=(),
            exits=exits,
        )
    started = ended + _RESTART_SECONDS
    return _replace(
        sample,
        processes=tuple([_anew(each, gone, started) for each in sample.processes]),
        gpus=tuple(
            [
                _replace(
                    gpu,
                    processes=tuple(
                        [_replace(on, pid=on.pid + _MOVED) for on in gpu.processes or ()]
                    ),
                )
                for gpu in sample.gpus
            ]
        ),
        probes=tuple(
            [
                _replace(probe, pid=probe.pid + _MOVED, start_time_seconds=started)
                for probe in sample.probes
            ]
        ),
        limits=(),
        placements=(),
        exits=exits,
    )


def _anew(process: ProcessReading, gone: set[int], started: float) -> ProcessReading:
    if process.pid not in gone:
        return process
    parent = process.parent_pid
    return _replace(
        process,
        pid=process.pid + _MOVED,
        namespace_pids=(process.pid + _MOVED,),
        parent_pid=parent if parent == LAUNCHER_PID else (parent or 0) + _MOVED,
        start_time_seconds=started,
    )


ELASTIC_RESTART = Scenario(
    name="elastic-restart",
    summary="Healthy: torchrun has ended all ranks and started them anew; they train again.",
    nearly=("RUN424",),
    onset_seconds=-100.0,
    stages=(everyone(-100.0, Pace()),),
    overlays=(_restarted,),
)

_HALF = RANKS // 2


def _in_two_jobs(sample: Sample, scene: Scene) -> Sample:
    """Ranks 4 to 7 are those of a second launcher, for another user."""
    second = LAUNCHER_PID + 20_000
    processes: list[ProcessReading] = []
    for each in sample.processes:
        rank = int(each.environment.get("RANK", -1))
        if each.pid == LAUNCHER_PID:
            processes += [each, _replace(each, pid=second, namespace_pids=(second,), user="noor")]
            continue
        if rank < 0:
            owner = next((r for r in _ALL if each.pid in worker_pids(r)), 0)
            processes.append(_replace(each, user="noor") if owner >= _HALF else each)
            continue
        environment = {
            **each.environment,
            "RANK": str(rank % _HALF),
            "LOCAL_RANK": str(rank % _HALF),
            "WORLD_SIZE": str(_HALF),
            "LOCAL_WORLD_SIZE": str(_HALF),
            "MASTER_PORT": "29500" if rank < _HALF else "29611",
        }
        own: dict[str, Any] = {"environment": environment}
        if rank >= _HALF:
            own |= {"parent_pid": second, "user": "noor"}
        processes.append(_replace(each, **own))
    probes = tuple(
        [
            _replace(
                probe,
                rank=index % _HALF,
                local_rank=index % _HALF,
                world_size=_HALF,
                collectives=tuple(
                    [_replace(one, ranks=tuple(range(_HALF))) for one in probe.collectives]
                ),
            )
            for index, probe in enumerate(sample.probes)
        ]
    )
    return _replace(sample, processes=tuple(processes), probes=probes)


TWO_JOBS = Scenario(
    name="two-jobs",
    summary="Healthy: two users' jobs of four ranks each share the node.",
    nearly=("RUN424", "ENV601"),
    onset_seconds=_ALWAYS,
    stages=(everyone(_ALWAYS, Pace()),),
    overlays=(_in_two_jobs,),
)

_NOT_MIG = "not supported in MIG mode"
_NO_COUNTERS = "not supported by this GPU"
_PROFILE = ("utilization_ratio", "memory_utilization_ratio", "pcie_rx_bytes", "pcie_tx_bytes")


def _sliced(gpu: GpuReading, scene: Scene) -> Fields:
    slices = tuple(
        MigReading(
            index=number,
            uuid=f"MIG-{gpu.index}-{number}",
            name="3g.40gb",
            gpu_instance=number + 1,
            compute_instance=0,
            memory_used_bytes=(34 if number == 0 else 0) * GIB,
            memory_total_bytes=40 * GIB,
            multiprocessors=60,
        )
        for number in range(2)
    )
    return {
        "mig_mode": True,
        "migs": slices,
        **dict.fromkeys(_PROFILE),
        "sm_active_ratio": (gpu.sm_active_ratio or 0.0) * 0.45,
        "tensor_active_ratio": (gpu.tensor_active_ratio or 0.0) * 0.45,
        "power_watts": 300.0,
        "memory_used_bytes": 35 * GIB,
        "missing": {**gpu.missing, **dict.fromkeys(_PROFILE, _NOT_MIG)},
    }


MIG = Scenario(
    name="mig",
    summary="Healthy: all GPUs are split by MIG; one slice of each trains, the other is free.",
    nearly=("HW210", "MEM307"),
    onset_seconds=_ALWAYS,
    stages=(everyone(_ALWAYS, Pace()),),
    overlays=(_always(_sliced),),
)

_GB10_LACKS = (
    "memory_used_bytes",
    "memory_total_bytes",
    "memory_reserved_bytes",
    "bar1_used_bytes",
    "bar1_total_bytes",
    "memory_clock_hertz",
    "memory_clock_max_hertz",
    "memory_temperature_celsius",
    "power_limit_watts",
    "power_limit_default_watts",
    "temperature_shutdown_celsius",
    "pcie_rx_bytes",
    "pcie_tx_bytes",
    "nvlinks",
    "ecc_enabled",
    "ecc_uncorrected",
    "ecc_corrected",
    "sm_active_ratio",
    "sm_occupancy_ratio",
    "tensor_active_ratio",
    "dram_active_ratio",
)


def _gb10(gpu: GpuReading, scene: Scene) -> Fields:
    """Processor and GPU share one memory; the link on the package calls itself PCIe 1 of width 1."""
    return {
        **dict.fromkeys(_GB10_LACKS),
        "name": "NVIDIA GB10",
        "architecture": "Blackwell",
        "compute_capability": "12.1",
        "power_watts": 62.0,
        "temperature_celsius": 66.0,
        "sm_clock_hertz": 2418e6,
        "sm_clock_max_hertz": 3003e6,
        "pcie_generation": 1,
        "pcie_width": 1,
        "missing": {**gpu.missing, **dict.fromkeys(_GB10_LACKS, _NO_COUNTERS)},
    }


def _alone(sample: Sample, scene: Scene) -> Sample:
    """One GPU, one rank, no launcher of more."""
    kept = {LAUNCHER_PID, rank_pid(0), *worker_pids(0)}
    processes = tuple(
        [
            _replace(
                each,
                environment={**each.environment, "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"},
            )
            if "WORLD_SIZE" in each.environment
            else each
            for each in sample.processes
            if each.pid in kept
        ]
    )
    return _replace(
        sample,
        gpus=sample.gpus[:1],
        processes=processes,
        probes=tuple([_replace(probe, world_size=1) for probe in sample.probes[:1]]),
        limits=sample.limits[:1],
        placements=sample.placements[:1],
        topology=None,
        gpu_paths=None,
        ports=(),
    )


GB10 = Scenario(
    name="gb10",
    summary="Healthy: one GB10, whose memory is the host's and whose driver tells little.",
    nearly=("LNK501", "HW203"),
    onset_seconds=_ALWAYS,
    stages=(everyone(_ALWAYS, Pace()),),
    overlays=(_always(_gb10), _alone),
)

_PROFILING = (
    "sm_active_ratio",
    "sm_occupancy_ratio",
    "tensor_active_ratio",
    "dram_active_ratio",
    "power_watts",
    "energy_joules",
    "pcie_rx_bytes",
    "pcie_tx_bytes",
)


def _without_counters(gpu: GpuReading, scene: Scene) -> Fields:
    refused = "no permission"
    return {
        **dict.fromkeys(_PROFILING),
        "missing": {**gpu.missing, **dict.fromkeys(_PROFILING, refused)},
    }


FEW_COUNTERS = Scenario(
    name="few-counters",
    summary="Healthy: SM, tensor, power and PCIe counters are refused, and no rank has a probe.",
    onset_seconds=_ALWAYS,
    stages=(everyone(_ALWAYS, Pace()),),
    overlays=(
        _always(_without_counters),
        lambda sample, _: _replace(sample, probes=(), limits=()),
    ),
)

WITHOUT_PROBES = Scenario(
    name="without-probes",
    summary="Healthy: the ranks have no probe, so nothing is known of their steps.",
    onset_seconds=_ALWAYS,
    stages=(everyone(_ALWAYS, Pace()),),
    overlays=(lambda sample, _: _replace(sample, probes=()),),
)


def _ended(sample: Sample, scene: Scene) -> Sample:
    """All ranks have exited with 0, one after the other within a second, and the GPUs are empty."""
    if scene.since < 0:
        return sample
    ended = scene.zero_monotonic_seconds + scene.onset_seconds
    exits = tuple(
        [
            ExitReading(
                pid=probe.pid,
                start_time_seconds=probe.start_time_seconds,
                monotonic_seconds=ended + 0.1 * rank,
                code=0,
            )
            for rank, probe in enumerate(sample.probes)
            if scene.since < 60.0
        ]
    )
    empty = {"memory_used_bytes": 3 * MIB, "bar1_used_bytes": 2 * MIB, "processes": ()}
    return _replace(
        sample,
        processes=(),
        cgroups=(),
        probes=(),
        limits=(),
        placements=(),
        exits=exits,
        gpus=tuple([_replace(gpu, **empty) for gpu in sample.gpus]),
    )


JOB_ENDS = Scenario(
    name="job-ends",
    summary="Healthy: the job has done its last step, and all its ranks have exited with 0.",
    nearly=("RUN424", "MEM302"),
    onset_seconds=-60.0,
    stages=(everyone(-60.0, _IDLE_FOR_EVER),),
    overlays=(_ended,),
)


def _crowded(host: HostReading, scene: Scene) -> Fields:
    """Others want four times as many cores as there are; the job has a share of its own."""
    return {
        "load_1m": 410.0,
        "load_5m": 395.0,
        "load_15m": 380.0,
        "cpu_busy_seconds": (host.cpu_busy_seconds or 0.0) + scene.grown(57.0),
    }


OVERLOADED_HOST = Scenario(
    name="overloaded-host",
    summary="Healthy: other users' work fills all cores, and the job, with a higher weight, goes on as ever.",
    nearly=("HST111",),
    onset_seconds=-300.0,
    overlays=(on_host(_crowded),),
)


def _locked(gpu: GpuReading, scene: Scene) -> Fields:
    return {
        "sm_clock_hertz": min(1410e6, gpu.sm_clock_hertz or 0.0),
        "sm_clock_application_hertz": 1410e6,
        "throttle_reasons": ("applications clocks setting",),
    }


CLOCKS_LOCKED = Scenario(
    name="clocks-locked",
    summary="Healthy: the site runs all GPUs at 1410 MHz, by its own setting.",
    nearly=("HW203", "HW202"),
    onset_seconds=_ALWAYS,
    stages=(everyone(_ALWAYS, Pace(forward=0.82, backward=1.55)),),
    overlays=(_always(_locked),),
)


def _warm(gpu: GpuReading, scene: Scene) -> Fields:
    return {"temperature_celsius": 82.0 + gpu.index % 3, "memory_temperature_celsius": 91.0}


WARM_ROOM = Scenario(
    name="warm-room",
    summary="Healthy: all GPUs are at 82 to 84 °C, just below what would slow them.",
    nearly=("HW201",),
    onset_seconds=_ALWAYS,
    stages=(everyone(_ALWAYS, Pace()),),
    overlays=(_always(_warm),),
)


def _mended(gpu: GpuReading, scene: Scene) -> Fields:
    return {"ecc_corrected": 14 + int(scene.grown(0.002)), "remapped_rows_corrected": 1}


MENDED_MEMORY = Scenario(
    name="mended-memory",
    summary="Healthy: ECC has corrected some errors of GPU 2, and one of its rows was replaced long ago.",
    nearly=("HW204", "HW205"),
    onset_seconds=_ALWAYS,
    stages=(everyone(_ALWAYS, Pace()),),
    overlays=(_always(_mended, 2),),
)


def _full_cache(gpu: GpuReading, scene: Scene) -> Fields:
    return {"memory_used_bytes": int(75.5 * GIB)}


PREALLOCATED = Scenario(
    name="preallocated",
    summary="Healthy: the framework takes 95 % of each GPU's memory at once, and never more.",
    nearly=("MEM301",),
    onset_seconds=_ALWAYS,
    stages=(everyone(_ALWAYS, Pace()),),
    overlays=(_always(_full_cache),),
)


def _old_swap(host: HostReading, scene: Scene) -> Fields:
    return {"swap_total_bytes": 64 * GIB, "swap_free_bytes": 21 * GIB, "swap_in_bytes": 10**9}


SWAPPED_LONG_AGO = Scenario(
    name="swapped-long-ago",
    summary="Healthy: two thirds of the swap space are in use, and nothing has moved for hours.",
    nearly=("HST109",),
    onset_seconds=_ALWAYS,
    stages=(everyone(_ALWAYS, Pace()),),
    overlays=(on_host(_old_swap), pressed(pressure_memory_some_seconds=0.001)),
)


def _half_used(sample: Sample, scene: Scene) -> Sample:
    """The job has four GPUs, and the other four are free."""
    kept = {
        LAUNCHER_PID,
        *(pid for rank in range(_HALF) for pid in (rank_pid(rank), *worker_pids(rank))),
    }
    free = {
        "processes": (),
        "memory_used_bytes": 3 * MIB,
        "utilization_ratio": 0.0,
        "memory_utilization_ratio": 0.0,
        "sm_active_ratio": 0.0,
        "sm_occupancy_ratio": 0.0,
        "tensor_active_ratio": 0.0,
        "dram_active_ratio": 0.0,
        "power_watts": 71.0,
        "sm_clock_hertz": 345e6,
        "throttle_reasons": ("gpu idle",),
        "temperature_celsius": 34.0,
    }
    processes = tuple(
        [
            _replace(each, environment={**each.environment, "WORLD_SIZE": str(_HALF)})
            if "WORLD_SIZE" in each.environment
            else each
            for each in sample.processes
            if each.pid in kept
        ]
    )
    probes = tuple(
        [
            _replace(
                probe,
                world_size=_HALF,
                collectives=tuple(
                    [_replace(one, ranks=tuple(range(_HALF))) for one in probe.collectives]
                ),
            )
            for probe in sample.probes[:_HALF]
        ]
    )
    return _replace(
        sample,
        gpus=tuple([_replace(gpu, **free) if gpu.index >= _HALF else gpu for gpu in sample.gpus]),
        processes=processes,
        probes=probes,
        limits=sample.limits[:_HALF],
        placements=sample.placements[:_HALF],
    )


HALF_USED = Scenario(
    name="half-used",
    summary="Healthy: a job of four ranks, and four GPUs that are free.",
    nearly=("HW210",),
    onset_seconds=_ALWAYS,
    stages=(everyone(_ALWAYS, Pace()),),
    overlays=(_half_used,),
)


def _sleepy(sample: Sample, scene: Scene) -> Sample:
    """Loader workers are met in disk sleep by chance, as on any disk."""

    def met(process: ProcessReading) -> bool:
        look = int(scene.elapsed_seconds * 4) + 77
        return process.name == "pt_data_worker" and chance(process.pid, look) < 0.3

    return _replace(
        sample,
        processes=tuple(
            [
                _replace(each, state="D", wait_channel="folio_wait_bit_common")
                if met(each)
                else each
                for each in sample.processes
            ]
        ),
    )


READS_FROM_DISK = Scenario(
    name="reads-from-disk",
    summary="Healthy: loader workers wait for the disk a third of the time, and still are early enough.",
    nearly=("HST107", "INP704"),
    onset_seconds=_ALWAYS,
    stages=(everyone(_ALWAYS, Pace()),),
    overlays=(_sleepy, pressed(pressure_io_some_seconds=0.25, cpu_iowait_seconds=6.0)),
)
