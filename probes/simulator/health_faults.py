"""Scenarios in which what a GPU reports of itself is bad, and its work is not slower for it yet."""

from __future__ import annotations

import msgspec

from ..model.gpu_readings import GpuReading
from ..model.link_readings import ImexReading
from ..model.sample import Sample
from .activity import TRAINING
from .overlays import Fields, on_gpus, with_xid
from .rhythm import RANKS, Pace, everyone
from .scenario import Scenario, Scene

_READ_EVERY_SECONDS = 8.0
"""As the real source: the counters of errors are slow to be read."""


def _storm(gpu: GpuReading, scene: Scene) -> Fields:
    read = scene.since // _READ_EVERY_SECONDS * _READ_EVERY_SECONDS
    return {
        "ecc_corrected": 61 + int(11.3 * read),
        "memory_temperature_celsius": (gpu.memory_temperature_celsius or 0.0) + 8.0,
    }


ECC_STORM = Scenario(
    name="ecc-storm",
    summary="ECC corrects hundreds of errors a minute in the memory of GPU 5; none is wrong yet.",
    finds=("HW221",),
    about="GPU 5",
    onset_seconds=-110.0,
    overlays=(on_gpus(_storm, 5), with_xid(92, 5, later_seconds=20.0)),
)


def _narrow(gpu: GpuReading, scene: Scene) -> Fields:
    return {"fabric_health": "degraded bandwidth"}


_HALF = TRAINING["comm"]._replace(nvlink_rx=88e9, nvlink_tx=88e9)

FABRIC_DEGRADED = Scenario(
    name="fabric-degraded",
    summary="The NVSwitch fabric runs at degraded bandwidth: collectives take twice as long.",
    finds=("LNK517",),
    about="host",
    onset_seconds=-90.0,
    stages=(everyone(-90.0, Pace(comm=0.14, work={**TRAINING, "comm": _HALF})),),
    overlays=(on_gpus(_narrow, *range(RANKS)),),
)


def _without_daemon(sample: Sample, scene: Scene) -> Sample:
    """The node belongs to a domain from the start, and its daemon ends."""
    imex = ImexReading(
        monotonic_seconds=sample.monotonic_seconds,
        domain_nodes=_DOMAIN_NODES,
        daemon_runs=scene.since < 0,
        channels=1,
    )
    return msgspec.structs.replace(sample, imex=imex)


def _asks(gpu: GpuReading, scene: Scene) -> Fields:
    return {"recovery_action": "recover imex domain"}


_DOMAIN_NODES = 18

IMEX_DOWN = Scenario(
    name="imex-down",
    summary="nvidia-imex has ended on this node of an NVLink domain of 18; the driver asks for recovery.",
    finds=("LNK518", "HW217"),
    severity="error",
    about="host",
    onset_seconds=-90.0,
    overlays=(_without_daemon, on_gpus(_asks, *range(RANKS))),
)
