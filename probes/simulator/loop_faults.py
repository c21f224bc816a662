"""Scenarios in which the program's own ways keep the GPUs from being busy."""

from __future__ import annotations

import msgspec

from ..model.sample import Sample
from .activity import TRAINING
from .rhythm import Pace, everyone
from .scenario import Scenario, Scene

_AFTER_WAITS = {
    **TRAINING,
    "backward": TRAINING["backward"]._replace(utilization=0.70, sm_active=0.62, power=470.0),
    "optimizer": TRAINING["optimizer"]._replace(utilization=0.41, sm_active=0.26, power=310.0),
    "other": TRAINING["other"]._replace(utilization=0.0),
}

SYNC_POINTS = Scenario(
    name="sync-points",
    summary="Each step waits for its loss to be fetched: the GPUs idle until the host has gone on.",
    finds=("RUN439",),
    onset_seconds=-90.0,
    stages=(everyone(-90.0, Pace(sync=0.55, other=0.14, work=_AFTER_WAITS)),),
)


_SLOW_COPIES = {
    **TRAINING,
    "h2d": TRAINING["h2d"]._replace(pcie_rx=6.8e9, utilization=0.22, rank_cpu=1.0),
}


def _unpinned(sample: Sample, scene: Scene) -> Sample:
    """As the loaders were made."""
    if scene.since < 0:
        return sample
    probes = [
        msgspec.structs.replace(
            probe, loader=msgspec.structs.replace(probe.loader, pin_memory=False)
        )
        if probe.loader is not None
        else probe
        for probe in sample.probes
    ]
    return msgspec.structs.replace(sample, probes=tuple(probes))


PAGEABLE_COPIES = Scenario(
    name="pageable-copies",
    summary="Batches are copied to the GPUs out of memory that is not pinned, at a tenth of the link.",
    finds=("INP709", "INP705"),
    onset_seconds=-90.0,
    stages=(everyone(-90.0, Pace(h2d=1.9, work=_SLOW_COPIES)),),
    overlays=(_unpinned,),
)
