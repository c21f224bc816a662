"""Scenarios in which a process of the job goes."""

from __future__ import annotations

import signal

import msgspec

from ..model.gpu_readings import GpuReading
from ..model.rank_readings import ExitReading
from ..model.sample import Sample
from ..sources.processes.exits import KEPT_SECONDS
from .activity import SPINNING, TRAINING, Activity
from .gpus import MIB
from .job import rank_pid, worker_pids
from .overlays import Fields, on_gpus
from .rhythm import FOR_EVER, Pace, only
from .scenario import Scenario, Scene

_RANK = 5
_LIVED_SECONDS = 2.0
"""After the onset, which is the start of its last step: it dies in ``backward``."""
_IDLE = Activity(
    power=71.0, sm_clock=345e6, pcie_rx=0.0, pcie_tx=0.0, rank_cpu=0.0, worker_cpu=0.0, read=0.0
)
_WAITS = {
    **TRAINING,
    SPINNING: TRAINING[SPINNING]._replace(worker_cpu=0.01, read=0.0),
}


def _without_rank(sample: Sample, scene: Scene) -> Sample:
    """Its processes are gone; its page says what it did last, and the kernel how it ended."""
    if scene.since < _LIVED_SECONDS:
        return sample
    died = scene.onset_seconds + _LIVED_SECONDS
    died_monotonic = scene.zero_monotonic_seconds + died
    left = msgspec.structs.replace(
        scene.probe_at(_RANK, died),
        ended_monotonic_seconds=died_monotonic,
    )
    end = ExitReading(
        pid=left.pid,
        start_time_seconds=left.start_time_seconds,
        monotonic_seconds=died_monotonic,
        signal=signal.SIGKILL,
    )
    gone = {rank_pid(_RANK), *worker_pids(_RANK)}
    return msgspec.structs.replace(
        sample,
        processes=tuple([each for each in sample.processes if each.pid not in gone]),
        exits=(end,) if scene.since - _LIVED_SECONDS < KEPT_SECONDS else (),
        probes=tuple([left if probe.pid in gone else probe for probe in sample.probes]),
    )


def _freed(gpu: GpuReading, scene: Scene) -> Fields:
    return {"memory_used_bytes": 3 * MIB, "bar1_used_bytes": 2 * MIB, "processes": ()}


RANK_EXITED = Scenario(
    name="rank-exited",
    summary="Rank 5 is killed in backward; its launcher does not notice and the others wait for ever.",
    finds=("RUN424", "HW211"),
    severity="error",
    about="rank 5",
    onset_seconds=-60.0,
    stages=(
        only(
            -60.0,
            _RANK,
            Pace(backward=FOR_EVER, work={**TRAINING, "backward": _IDLE}),
            Pace(work=_WAITS),
        ),
    ),
    overlays=(_without_rank, on_gpus(_freed, _RANK, lead_seconds=-_LIVED_SECONDS)),
)
