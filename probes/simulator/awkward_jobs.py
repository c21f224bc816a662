"""Healthy jobs that end, begin anew, share a node, or wait now and then."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ..model.process_readings import ProcessReading
from ..model.rank_readings import ExitReading
from ..model.sample import Sample
from .awkward_from_the_start import ALL_RANKS, ALWAYS, IDLE_FOR_EVER
from .gpus import MIB
from .job import LAUNCHER_PID, chance, rank_pid, worker_pids
from .overlays import pressed
from .rhythm import RANKS, Pace, everyone
from .scenario import Scenario, Scene

_RESTART_SECONDS = 12.0
_MOVED = 4000


def _restarted(sample: Sample, scene: Scene) -> Sample:
    """torchrun has ended the ranks after a failure on another node, and started them anew."""
    if scene.since < 0:
        return sample
    since = scene.since
    ranks = {rank_pid(rank) for rank in ALL_RANKS}
    gone = ranks | {pid for rank in ALL_RANKS for pid in worker_pids(rank)}
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
        return replace(
            sample,
            processes=tuple([each for each in sample.processes if each.pid not in gone]),
            gpus=tuple([replace(gpu, processes=()) for gpu in sample.gpus]),
            probes=(),
            exits=exits,
        )
    started = ended + _RESTART_SECONDS
    return replace(
        sample,
        processes=tuple([_anew(each, gone, started) for each in sample.processes]),
        gpus=tuple(
            [
                replace(
                    gpu,
                    processes=tuple(
                        [replace(on, pid=on.pid + _MOVED) for on in gpu.processes or ()]
                    ),
                )
                for gpu in sample.gpus
            ]
        ),
        probes=tuple(
            [
                replace(probe, pid=probe.pid + _MOVED, start_time_seconds=started)
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
    return replace(
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
            processes += [each, replace(each, pid=second, namespace_pids=(second,), user="noor")]
            continue
        if rank < 0:
            owner = next((r for r in ALL_RANKS if each.pid in worker_pids(r)), 0)
            processes.append(replace(each, user="noor") if owner >= _HALF else each)
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
        processes.append(replace(each, **own))
    probes = tuple(
        [
            replace(
                probe,
                rank=index % _HALF,
                local_rank=index % _HALF,
                world_size=_HALF,
                collectives=tuple(
                    [replace(one, ranks=tuple(range(_HALF))) for one in probe.collectives]
                ),
            )
            for index, probe in enumerate(sample.probes)
        ]
    )
    return replace(sample, processes=tuple(processes), probes=probes)


TWO_JOBS = Scenario(
    name="two-jobs",
    summary="Healthy: two users' jobs of four ranks each share the node.",
    nearly=("RUN424", "ENV601"),
    onset_seconds=ALWAYS,
    stages=(everyone(ALWAYS, Pace()),),
    overlays=(_in_two_jobs,),
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
    return replace(
        sample,
        processes=(),
        cgroups=(),
        probes=(),
        limits=(),
        placements=(),
        exits=exits,
        gpus=tuple([replace(gpu, **empty) for gpu in sample.gpus]),
    )


JOB_ENDS = Scenario(
    name="job-ends",
    summary="Healthy: the job has done its last step, and all its ranks have exited with 0.",
    nearly=("RUN424", "MEM302"),
    onset_seconds=-60.0,
    stages=(everyone(-60.0, IDLE_FOR_EVER),),
    overlays=(_ended,),
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
            replace(each, environment={**each.environment, "WORLD_SIZE": str(_HALF)})
            if "WORLD_SIZE" in each.environment
            else each
            for each in sample.processes
            if each.pid in kept
        ]
    )
    probes = tuple(
        [
            replace(
                probe,
                world_size=_HALF,
                collectives=tuple(
                    [replace(one, ranks=tuple(range(_HALF))) for one in probe.collectives]
                ),
            )
            for probe in sample.probes[:_HALF]
        ]
    )
    return replace(
        sample,
        gpus=tuple([replace(gpu, **free) if gpu.index >= _HALF else gpu for gpu in sample.gpus]),
        processes=processes,
        probes=probes,
        limits=sample.limits[:_HALF],
        placements=sample.placements[:_HALF],
    )


HALF_USED = Scenario(
    name="half-used",
    summary="Healthy: a job of four ranks, and four GPUs that are free.",
    nearly=("HW210",),
    onset_seconds=ALWAYS,
    stages=(everyone(ALWAYS, Pace()),),
    overlays=(_half_used,),
)


def _sleepy(sample: Sample, scene: Scene) -> Sample:
    """Loader workers are met in disk sleep by chance, as on any disk."""

    def met(process: ProcessReading) -> bool:
        look = int(scene.elapsed_seconds * 4) + 77
        return process.name == "pt_data_worker" and chance(process.pid, look) < 0.3

    return replace(
        sample,
        processes=tuple(
            [
                replace(each, state="D", wait_channel="folio_wait_bit_common")
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
    onset_seconds=ALWAYS,
    stages=(everyone(ALWAYS, Pace()),),
    overlays=(_sleepy, pressed(pressure_io_some_seconds=0.25, cpu_iowait_seconds=6.0)),
)
