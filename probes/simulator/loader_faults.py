"""Scenarios in which it is the loading of data that is slow, each for another reason."""

from __future__ import annotations

import signal

import msgspec

from ..model.mount_readings import MountReading
from ..model.probe_readings import ProbeReading
from ..model.process_readings import ProcessReading
from ..model.sample import Sample
from .input_faults import ALL_WORKERS, SLOW_READS, STARVED, in_disk_sleep
from .job import WORKERS, rank_pid, worker_pids
from .overlays import pressed
from .rhythm import RANKS, Pace, Stage, everyone
from .scenario import Scenario, Scene

_READ_EVERY_SECONDS = 10.0
_USUAL_PER_SECOND, _USUAL_AWAIT_SECONDS = 420.0, 0.0008
_SLOW_PER_SECOND, _SLOW_AWAIT_SECONDS = 310.0, 0.046
_QUEUE_RATIO = 0.12
_MOUNTED_SECONDS = 300_000.0
_BYTES = 131_072


def _from_nfs(sample: Sample, scene: Scene) -> Sample:
    """The data lies on a server whose answers take fifty times as long from the onset on."""
    at = sample.monotonic_seconds // _READ_EVERY_SECONDS * _READ_EVERY_SECONDS
    since = at - scene.zero_monotonic_seconds - scene.onset_seconds
    before, after = _MOUNTED_SECONDS + min(0.0, since), max(0.0, since)
    usual, slow = int(_USUAL_PER_SECOND * before), int(_SLOW_PER_SECOND * after)
    waited = usual * _USUAL_AWAIT_SECONDS + slow * _SLOW_AWAIT_SECONDS
    mount = MountReading(
        monotonic_seconds=at,
        pid=rank_pid(0),
        start_time_seconds=sample.probes[0].start_time_seconds,
        mount_point="/data",
        device="filer3:/vol/train",
        file_system="nfs4",
        users=tuple(rank_pid(rank) for rank in range(RANKS)),
        operations=usual + slow,
        transmissions=usual + slow,
        timeouts=0,
        queue_seconds=_QUEUE_RATIO * waited,
        round_trip_seconds=(1.0 - _QUEUE_RATIO) * waited,
        read_bytes=_BYTES * (usual + slow),
    )
    return msgspec.structs.replace(sample, mounts=(mount,))


SLOW_NFS = Scenario(
    name="slow-nfs",
    summary="The data's NFS server answers fifty times slower: all ranks wait for their batches.",
    finds=("INP706", "INP704", "INP701", "HW210"),
    onset_seconds=-90.0,
    stages=(everyone(-90.0, Pace(data=1.30, work=SLOW_READS)),),
    overlays=(
        _from_nfs,
        in_disk_sleep(*ALL_WORKERS, share=0.62, channel="rpc_wait_bit_killable"),
        pressed(
            pressure_io_some_seconds=0.61, pressure_io_full_seconds=0.34, cpu_iowait_seconds=20.0
        ),
    ),
)


def _one_in(steps: int, pace: Pace, *ranks: int) -> Stage:
    """One of so many steps has this pace, for these ranks or all; the others are healthy."""
    usual = Pace(work=STARVED)
    row = tuple(pace if rank in (ranks or range(RANKS)) else Pace() for rank in range(RANKS))
    return Stage(-110.0, row, ((usual,) * RANKS,) * (steps - 1))


LOADER_STALLS = Scenario(
    name="loader-stalls",
    summary="One loader worker of each rank is late each time its turn comes: every fourth step waits.",
    finds=("INP707", "INP701"),
    onset_seconds=-110.0,
    stages=(_one_in(WORKERS, Pace(data=2.63, work=STARVED)),),
)

_FAILING_RANK = 2
_DIES_EVERY_SECONDS = 16.0
_STARTS_SECONDS = 3.0
_ZOMBIE_SECONDS = 2.0


def _workers_die(sample: Sample, scene: Scene) -> Sample:
    """Again and again one of a rank's workers is killed; the program makes all of them anew."""
    deaths, within = divmod(scene.since, _DIES_EVERY_SECONDS)
    if deaths < 1:
        return sample
    old = worker_pids(_FAILING_RANK)
    processes: list[ProcessReading] = []
    for each in sample.processes:
        if each.pid not in old:
            processes.append(each)
            continue
        number = old.index(each.pid)
        if within >= _STARTS_SECONDS:
            processes.append(_generation(each, number, deaths, scene))
        elif within < _ZOMBIE_SECONDS and number == 0:
            last = _generation(each, number, deaths - 1, scene) if deaths > 1 else each
            processes.append(msgspec.structs.replace(last, state="Z", exit_signal=signal.SIGBUS))
    return msgspec.structs.replace(
        sample,
        processes=tuple(processes),
        probes=tuple([_counted(probe, int(deaths)) for probe in sample.probes]),
    )


def _generation(worker: ProcessReading, number: int, deaths: float, scene: Scene) -> ProcessReading:
    """The worker in its place, started after so many deaths."""
    elapsed = scene.onset_seconds + deaths * _DIES_EVERY_SECONDS + 1.2 + 0.1 * number
    return msgspec.structs.replace(
        worker,
        pid=60_000 + int(deaths) * WORKERS + number,
        start_time_seconds=scene.zero_monotonic_seconds + elapsed,
        namespace_pids=(60_000 + int(deaths) * WORKERS + number,),
    )


def _counted(probe: ProbeReading, deaths: int) -> ProbeReading:
    if probe.rank != _FAILING_RANK or probe.loader is None:
        return probe
    return msgspec.structs.replace(
        probe, loader=msgspec.structs.replace(probe.loader, failures=deaths)
    )


LOADER_WORKERS_DIE = Scenario(
    name="loader-workers-die",
    summary="Loader workers of rank 2 die of a full /dev/shm, and its program makes them anew.",
    finds=("INP708",),
    onset_seconds=-110.0,
    stages=(_one_in(8, Pace(data=3.43, work=STARVED), _FAILING_RANK),),
    overlays=(_workers_die,),
)
