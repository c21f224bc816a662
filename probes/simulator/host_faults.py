"""Scenarios in which the cores of the host hold the job up, and the job itself is at fault."""

from __future__ import annotations

import msgspec

from ..model.process_readings import ProcessReading
from ..model.sample import Sample
from .activity import TRAINING, altered, computing
from .job import is_worker
from .overlays import Fields, on_processes, pressed
from .rhythm import Pace, everyone
from .scenario import Scenario, Scene

_POOL = "OMP_NUM_THREADS"
_CROWDED = altered(computing(TRAINING, utilization=0.74), rank_cpu=7.6)


def _without_limit(sample: Sample, scene: Scene) -> Sample:
    """No variable says how many threads a pool may have; that was so from the start."""
    processes = [
        msgspec.structs.replace(
            each,
            environment={name: value for name, value in each.environment.items() if name != _POOL},
        )
        if _POOL in each.environment
        else each
        for each in sample.processes
    ]
    return msgspec.structs.replace(sample, processes=tuple(processes))


def _crowded(process: ProcessReading, scene: Scene) -> Fields:
    delayed = (process.run_delay_seconds or 0.0) + scene.grown(0.04 if is_worker(process) else 0.27)
    threads = process.threads or 1
    return {
        "run_delay_seconds": delayed,
        "threads": threads if is_worker(process) else threads + 96,
    }


OVERSUBSCRIBED = Scenario(
    name="oversubscribed",
    summary="Each rank has a pool of one thread per core: eight pools crowd the cores of the node.",
    finds=("HST131",),
    onset_seconds=-90.0,
    stages=(everyone(-90.0, Pace(forward=0.95, backward=1.6, optimizer=0.34, work=_CROWDED)),),
    overlays=(
        _without_limit,
        on_processes(_crowded, lambda process: process.parent_pid != 1),
        pressed(pressure_cpu_some_seconds=0.62),
    ),
)
