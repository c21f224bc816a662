"""Scenarios of two faults at once: each is told, the dearer one of a severity first."""

from __future__ import annotations

from .device_faults import ECC
from .input_faults import CPU_THROTTLED, INPUT_BOUND
from .rhythm import Pace, Stage
from .scenario import Scenario
from .speed_faults import POWER_CAP, THERMAL_THROTTLE

_HOT, _CAPPED = 6, 4


def _slower_too(paces: tuple[Pace, ...], rank: int, other: Scenario) -> tuple[Pace, ...]:
    """The paces of one fault, and one rank computes at that of the other."""
    slow, own = other.stages[-1].paces[rank], paces[rank]
    both = own._replace(
        forward=slow.forward,
        backward=slow.backward,
        optimizer=slow.optimizer,
        work={**slow.work, "data": own.work["data"]},
    )
    return tuple(both if each == rank else pace for each, pace in enumerate(paces))


def _at_once(base: Scenario, rank: int, other: Scenario) -> tuple[Stage, ...]:
    (stage,) = base.stages
    return (Stage(base.onset_seconds, _slower_too(stage.paces, rank, other)),)


HOT_AND_STARVED = Scenario(
    name="hot-and-starved",
    summary="All ranks wait for a slow NFS server, and GPU 6 is too hot besides: the server costs more.",
    finds=("INP704", "INP701"),
    beside=("HW201",),
    onset_seconds=-90.0,
    stages=_at_once(INPUT_BOUND, _HOT, THERMAL_THROTTLE),
    overlays=(*INPUT_BOUND.overlays, *THERMAL_THROTTLE.overlays),
)

BAD_AND_STARVED = Scenario(
    name="bad-memory-and-starved",
    summary="GPU 2 had an uncorrectable memory error while all ranks wait for a slow NFS server.",
    finds=("HW206", "HW204", "HW205", "HW217"),
    severity="error",
    about="GPU 2",
    beside=("INP704",),
    onset_seconds=-90.0,
    stages=INPUT_BOUND.stages,
    overlays=(*INPUT_BOUND.overlays, *ECC.overlays),
)

CAPPED_IN_CONTAINER = Scenario(
    name="capped-in-container",
    summary="The container's CPU quota holds the loaders back, and GPU 4 has a power limit of 400 W.",
    finds=("HST110", "INP701"),
    about="docker-8f3c1d9a5be2",
    beside=("HW202",),
    onset_seconds=-90.0,
    in_container=True,
    stages=_at_once(CPU_THROTTLED, _CAPPED, POWER_CAP),
    overlays=(*CPU_THROTTLED.overlays, *POWER_CAP.overlays),
)

COMPOUND = (HOT_AND_STARVED, BAD_AND_STARVED, CAPPED_IN_CONTAINER)
