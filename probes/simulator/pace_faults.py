"""Scenarios in which no part is slow: the steps, the ranks or the stages are uneven by the way the job is made."""

from __future__ import annotations

import msgspec

from ..model.probe_readings import CollectiveReading, ProbeReading
from ..model.sample import Sample
from .rhythm import RANKS, Pace, Stage, everyone
from .scenario import Scenario, Scene

_EVERY = 8
_ONSET_SECONDS = -115.0


def _logs(rank: int) -> Pace:
    """Rank 0 gathers numbers from the GPU and writes them."""
    return Pace(other=3.4) if rank == 0 else Pace()


OUTLIER_STEPS = Scenario(
    name="outlier-steps",
    summary="One step in eight takes more than twice as long: rank 0 logs, and all others wait for it.",
    finds=("RUN441",),
    onset_seconds=_ONSET_SECONDS,
    stages=(
        Stage(
            _ONSET_SECONDS,
            tuple(_logs(rank) for rank in range(RANKS)),
            ((Pace(),) * RANKS,) * (_EVERY - 1),
        ),
    ),
)

_LAST = (2, 5, 0, 7, 3, 6, 1, 4, 6, 2, 0, 5, 7, 1, 3, 4)
"""Whose batch is the longest, step by step."""


def _lengths(number: int) -> tuple[Pace, ...]:
    """One has a batch of long samples, and the others more or less."""
    factors = [
        1.55 if rank == _LAST[number] else 0.9 + 0.2 * ((rank * 7 + number * 3) % 8) / 8
        for rank in range(RANKS)
    ]
    return tuple(Pace(forward=0.66 * each, backward=1.25 * each) for each in factors)


LOAD_IMBALANCE = Scenario(
    name="load-imbalance",
    summary="Batches differ in length: each step waits for another rank with the longest samples.",
    finds=("RUN442",),
    onset_seconds=-100.0,
    stages=(
        Stage(-100.0, _lengths(0), tuple(_lengths(number) for number in range(1, len(_LAST)))),
    ),
)

_MICRO_BATCHES = 12
_GROUP = "mesh_pp"


def _in_stages(sample: Sample, scene: Scene) -> Sample:
    """Each rank is a stage of one pipeline."""
    if scene.since < 0:
        return sample
    return msgspec.structs.replace(sample, probes=tuple([_stage(probe) for probe in sample.probes]))


def _stage(probe: ProbeReading) -> ProbeReading:
    handed_on = CollectiveReading(
        group=_GROUP, sequence=0, operation="batch_isend_irecv", ranks=tuple(range(RANKS))
    )
    return msgspec.structs.replace(
        probe,
        collectives=(*probe.collectives, handed_on),
        steps=tuple(
            [msgspec.structs.replace(step, micro_steps=_MICRO_BATCHES) for step in probe.steps]
        ),
    )


PIPELINE_BUBBLE = Scenario(
    name="pipeline-bubble",
    summary="Eight pipeline stages with 12 micro-batches: each stands idle for a third of the step.",
    finds=("RUN444",),
    onset_seconds=-100.0,
    stages=(everyone(-100.0, Pace(comm=1.32)),),
    overlays=(_in_stages,),
)
