"""Scenarios in which a GPU works, but slower than it should."""

from __future__ import annotations

from math import sin

from ..model.gpu_readings import GpuReading
from .activity import TRAINING, altered, computing
from .overlays import Fields, on_gpus
from .rhythm import Pace, everyone, only
from .scenario import Scenario, Scene

_USUAL_HERTZ = 1755e6


def _slower(hertz: float, **changes: float) -> Pace:
    """The pace of a GPU whose clock does not go above this."""
    factor = _USUAL_HERTZ / hertz
    healthy = Pace()
    work = altered(computing(TRAINING, **changes), sm_clock=hertz)
    return healthy._replace(
        forward=healthy.forward * factor,
        backward=healthy.backward * factor,
        optimizer=healthy.optimizer * (0.4 + 0.6 * factor),
        work=work,
    )


_HOT_CELSIUS = 86.0
_HEATING_SECONDS = 45.0


def _hot(gpu: GpuReading, scene: Scene) -> Fields:
    normal = gpu.temperature_celsius or 0.0
    share = min(1.0, 1.0 + scene.since / _HEATING_SECONDS)
    wave = 0.7 * sin(scene.elapsed_seconds / 9.0) if share == 1.0 else 0.0
    celsius = round(normal + (_HOT_CELSIUS - normal) * share + wave)
    return {
        "temperature_celsius": float(celsius),
        "memory_temperature_celsius": float(celsius + 5),
        "temperature_slowdown_celsius": 85.0,
        "throttle_reasons": ("sw thermal slowdown",) if scene.since >= 0 else gpu.throttle_reasons,
    }


THERMAL_THROTTLE = Scenario(
    name="thermal-throttle",
    summary="GPU 6 is too hot and slows its clock; the other seven wait for it in every step.",
    finds=("HW201", "RUN407"),
    about="GPU 6",
    onset_seconds=-90.0,
    stages=(
        only(-90.0, 6, _slower(1590e6, power=575.0)),
        only(-75.0, 6, _slower(1410e6, power=540.0)),
    ),
    overlays=(on_gpus(_hot, 6, lead_seconds=_HEATING_SECONDS),),
)


def _capped(gpu: GpuReading, scene: Scene) -> Fields:
    busy = (gpu.sm_active_ratio or 0.0) > 0.3
    return {
        "power_limit_watts": 400.0,
        "throttle_reasons": ("sw power cap",) if busy else gpu.throttle_reasons,
    }


POWER_CAP = Scenario(
    name="power-cap",
    summary="Somebody left a power limit of 400 W on GPU 4; its clock is a quarter lower.",
    finds=("HW202", "RUN407"),
    about="GPU 4",
    onset_seconds=-90.0,
    stages=(only(-90.0, 4, _slower(1290e6, power=398.0)),),
    overlays=(on_gpus(_capped, 4),),
)

CLOCK_STUCK = Scenario(
    name="clock-stuck",
    summary="GPU 1 stays at 1200 MHz under load and gives no reason.",
    finds=("HW203", "RUN407"),
    about="GPU 1",
    onset_seconds=-90.0,
    stages=(only(-90.0, 1, _slower(1200e6, power=430.0)),),
)

_TINY_KERNELS = Pace(
    forward=1.60,
    backward=2.70,
    work=computing(
        TRAINING,
        utilization=1.0,
        memory_utilization=0.07,
        sm_active=0.09,
        sm_occupancy=0.02,
        tensor_active=0.01,
        dram_active=0.06,
        power=140.0,
        sm_clock=1980e6,
        nvlink_rx=4e9,
        nvlink_tx=4e9,
    ),
)

HOLLOW = Scenario(
    name="utilization-without-work",
    summary="Utilization is 100 % and power a fifth of the limit: a stream of tiny kernels.",
    finds=("HW211",),
    about="GPU 0",
    onset_seconds=-90.0,
    stages=(everyone(-90.0, _TINY_KERNELS),),
)
