"""Healthy jobs on a host whose figures look ill."""

from __future__ import annotations

from ..model.host_readings import HostReading
from .awkward_from_the_start import ALWAYS
from .gpus import GIB
from .overlays import Fields, on_host, pressed
from .rhythm import Pace, everyone
from .scenario import Scenario, Scene


def _crowded(host: HostReading, scene: Scene) -> Fields:
    """Others want four times as many cores as there are; the job has a share of its own."""
    return {
        "load_1m": 410.0,
        "load_5m": 395.0,
        "load_15m": 380.0,
        "cpu_busy_seconds": (host.cpu_busy_seconds or 0.0) + scene.grown(57.0),
    }


OVERLOADED_HOST = Scenario(
    name="overloaded-host",
    summary="Healthy: other users' work fills all cores, and the job, with a higher weight, goes on as ever.",
    nearly=("HST111",),
    onset_seconds=-300.0,
    overlays=(on_host(_crowded),),
)


def _old_swap(host: HostReading, scene: Scene) -> Fields:
    return {"swap_total_bytes": 64 * GIB, "swap_free_bytes": 21 * GIB, "swap_in_bytes": 10**9}


SWAPPED_LONG_AGO = Scenario(
    name="swapped-long-ago",
    summary="Healthy: two thirds of the swap space are in use, and nothing has moved for hours.",
    nearly=("HST109",),
    onset_seconds=ALWAYS,
    stages=(everyone(ALWAYS, Pace()),),
    overlays=(on_host(_old_swap), pressed(pressure_memory_some_seconds=0.001)),
)
