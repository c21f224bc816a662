"""Scenarios of what most jobs lose their time to, whatever the machine."""

from __future__ import annotations

import msgspec

from ..model.sample import Sample
from .activity import TRAINING
from .rhythm import Pace, everyone
from .scenario import Scenario, Scene

_ONSET_SECONDS = -115.0


COMMUNICATION_BOUND = Scenario(
    name="communication-bound",
    summary="Gradients are summed after the backward instead of within it: a third of each step is exposed.",
    finds=("RUN430",),
    onset_seconds=_ONSET_SECONDS,
    stages=(everyone(_ONSET_SECONDS, Pace(comm=1.15)),),
)

_LOADS_ITSELF = {
    **TRAINING,
    "data": TRAINING["data"]._replace(utilization=0.0, sm_active=0.0, power=130.0, rank_cpu=1.0),
}


def _no_workers(sample: Sample, scene: Scene) -> Sample:
    """As the loaders were made."""
    if scene.since < 0:
        return sample
    probes = [
        msgspec.structs.replace(probe, loader=msgspec.structs.replace(probe.loader, num_workers=0))
        if probe.loader is not None
        else probe
        for probe in sample.probes
    ]
    return msgspec.structs.replace(sample, probes=tuple(probes))


NO_WORKERS = Scenario(
    name="no-workers",
    summary="The loaders have no workers: each rank decodes its batches itself, and its GPU waits.",
    finds=("INP702",),
    onset_seconds=_ONSET_SECONDS,
    stages=(everyone(_ONSET_SECONDS, Pace(data=1.4, work=_LOADS_ITSELF)),),
    overlays=(_no_workers,),
)

_HOT_GPU = 4


def _fan_stands_still(sample: Sample, scene: Scene) -> Sample:
    if scene.since < 0:
        return sample
    gpus = list(sample.gpus)
    missing = {
        name: why
        for name, why in gpus[_HOT_GPU].missing.items()
        if name not in ("fan_speed_ratio", "fan_rotations_per_second")
    }
    gpus[_HOT_GPU] = msgspec.structs.replace(
        gpus[_HOT_GPU],
        missing=missing,
        fan_count=2,
        fan_speed_ratio=0.0,
        fan_rotations_per_second=0.0,
        temperature_celsius=scene.ramp(62.0, 79.0, 30.0),
    )
    return msgspec.structs.replace(sample, gpus=tuple(gpus))


FAN_STOPPED = Scenario(
    name="fan-stopped",
    summary=f"The fans of GPU {_HOT_GPU} stand still, and it grows hot.",
    finds=("HW212",),
    severity="warning",
    about=f"GPU {_HOT_GPU}",
    onset_seconds=-90.0,
    overlays=(_fan_stands_still,),
)

COMMON = (COMMUNICATION_BOUND, NO_WORKERS, FAN_STOPPED)
