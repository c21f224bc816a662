"""From samples to frames: a pure function, the same live, in a replay and in a simulation.

Fold it over a stream: ``frame = derive(frame, sample, cache)``. A reading that was sent again because its
source is late keeps its rates and grows in age; a GPU that vanished from the stream keeps its row.
"""

from __future__ import annotations

from ..jobs.grouping import group_jobs
from ..model.frame import Frame, ProbeFrame, SourceFrame
from ..model.rank_history import RankHistory
from ..model.reading import Key, key_of
from ..model.sample import Sample
from .activity import with_activity
from .cache import DeriveCache
from .exited_ranks import exited_ranks, pending_exits
from .extend import extend
from .gpu import derive_gpus
from .host import derive_cgroups, derive_host, derive_pressures
from .job import derive_jobs
from .kernel_log import all_xids, derive_kernel_log
from .link import derive_links
from .loader_workers import derive_workers
from .mount import derive_mounts
from .placement import derive_placements
from .port import derive_ports
from .process import derive_processes
from .rank_history import append_reading
from .topology import derive_topology, makes_topology


def derive(previous: Frame | None, current: Sample, cache: DeriveCache | None = None) -> Frame:
    """The frame of a sample.

    Args:
        previous: the frame of the sample before, of the same node; ``None`` at the start, and after
            a jump in a recording. Without it no rate can be reported.
        current: the sample.
        cache: of the stream that both are from; without one all is worked out anew.
    """
    cache = cache or DeriveCache()
    if previous is not None and previous.boot_id != current.boot_id:
        previous = None  # the node was started anew: nothing of before can be compared
    grouping = cache.grouping.of(
        _makes_groups(current),
        lambda: group_jobs(current.processes, current.gpus, current.probes),
    )
    processes = derive_processes(previous, current, grouping)
    rank_histories = _rank_histories(previous, current)
    jobs = derive_jobs(previous, current, grouping.jobs, rank_histories)
    jobs = with_activity(previous, current, jobs, processes)
    gpus = derive_gpus(previous, current, jobs)
    topology = cache.topology.of(makes_topology(current), lambda: derive_topology(current))
    ports = derive_ports(previous, current)
    host = derive_host(previous, current)
    exited = exited_ranks(previous, current)
    kernel_log = derive_kernel_log(previous, current, gpus, processes)
    driver = current.driver
    return Frame(
        time_seconds=current.time_seconds,
        monotonic_seconds=current.monotonic_seconds,
        sequence=current.sequence,
        interval_seconds=current.interval_seconds,
        node=current.node,
        boot_id=current.boot_id,
        suspended_seconds=current.suspended_seconds,
        driver_version=driver.driver_version if driver else None,
        nvml_version=driver.nvml_version if driver else None,
        cuda_version=driver.cuda_version if driver else None,
        gpus=gpus,
        processes=processes,
        jobs=jobs,
        links=derive_links(gpus, ports, host),
        ports=ports,
        topology=topology,
        placements=derive_placements(current, jobs, topology),
        host=host,
        cgroups=derive_cgroups(previous, current),
        pressures=derive_pressures(previous, current),
        probes=tuple(
            extend(ProbeFrame, probe, age_seconds=_age(probe.monotonic_seconds, current))
            for probe in current.probes
        ),
        limits=current.limits,
        mounts=derive_mounts(previous, current),
        waits=current.waits,
        threads=current.threads,
        stacks=current.stacks,
        communicators=current.communicators,
        exited_ranks=exited,
        pending_exits=pending_exits(previous, current, jobs, exited),
        imex=current.imex,
        xids=all_xids(current.xids, kernel_log, gpus),
        kernel_log=kernel_log,
        starvation=current.starvation,
        rank_histories=tuple(rank_histories.values()),
        worker_histories=derive_workers(previous, current, jobs, processes),
        sources=tuple(
            extend(SourceFrame, status, age_seconds=_age(status.monotonic_seconds, current))
            for status in current.sources
        ),
    )


def _rank_histories(previous: Frame | None, current: Sample) -> dict[Key, RankHistory]:
    """What is remembered of each process with a probe, this sample included."""
    return {
        key_of(probe): append_reading(
            previous.rank_history(probe.pid, probe.start_time_seconds) if previous else None, probe
        )
        for probe in current.probes
    }


def _makes_groups(sample: Sample) -> object:
    """Everything that grouping looks at."""
    return (
        [
            (
                process.pid,
                process.start_time_seconds,
                process.parent_pid,
                process.namespace_pids,
                process.name,
                process.command,
                process.user,
                process.container_id,
                process.environment,
                process.environment_inherited,
                process.attached,
                process.in_process_group,
                process.titled,
                process.ray_job,
                process.gpu_minors,
                process.cgroup,
                process.working_directory,
            )
            for process in sample.processes
        ],
        [
            (gpu.index, gpu.uuid, on.pid, on.kind, (on.memory_bytes or 0) >> 28)
            for gpu in sample.gpus
            for on in gpu.processes or ()
        ],
        [
            (
                probe.pid,
                probe.start_time_seconds,
                probe.rank,
                probe.local_rank,
                probe.world_size,
                probe.device_uuid,
                probe.step is None,
            )
            for probe in sample.probes
        ],
    )


def _age(moment: float | None, sample: Sample) -> float | None:
    return None if moment is None else max(0.0, sample.monotonic_seconds - moment)
