"""The fans of a board, through the real binding and the simulated driver."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.model.missing_reasons import NO_FANS, NOT_OFFERED, NOT_SUPPORTED

from nvml.simulated import SimulatedNvml
from support.nvml_watch import Watch

TWO = {"gpu.*.fan.count": 2, "gpu.*.fan.0": 62, "gpu.*.fan.1": 55}
TURNING = {"gpu.*.fan.0.rpm": 3000, "gpu.*.fan.1.rpm": 2400}


def gpu(keys: dict[str, Any], *, old_driver: bool = False) -> GpuReading:
    with (
        SimulatedNvml("l4", keys, old_driver=old_driver) as node,
        Watch(node.env()) as watch,
    ):
        return watch.ticks(8).gpu(0)


def test_the_slowest_fan_counts() -> None:
    found = gpu({**TWO, **TURNING})
    assert (found.fan_count, found.fan_speed_ratio, found.fan_rotations_per_second) == (2, 0.55, 40)


def test_one_that_stands_still_is_zero_and_not_missing() -> None:
    found = gpu({**TWO, **TURNING, "gpu.*.fan.1": 0, "gpu.*.fan.1.rpm": 0})
    assert (found.fan_speed_ratio, found.fan_rotations_per_second) == (0.0, 0.0)
    assert not {"fan_speed_ratio", "fan_rotations_per_second"} & found.missing.keys()


def test_a_board_without_fans_says_so() -> None:
    found = gpu({"gpu.*.fan.count": 0, **TURNING})
    assert (found.fan_count, found.fan_speed_ratio, found.fan_rotations_per_second) == (
        0,
        None,
        None,
    )
    assert found.missing["fan_speed_ratio"] == found.missing["fan_rotations_per_second"] == NO_FANS


def test_a_driver_without_rotations_tells_what_the_fan_is_set_to() -> None:
    found = gpu(TWO)
    assert (found.fan_speed_ratio, found.fan_rotations_per_second) == (0.55, None)
    assert found.missing["fan_rotations_per_second"] == NOT_SUPPORTED
    old = gpu({**TWO, **TURNING}, old_driver=True)
    assert (old.fan_speed_ratio, old.missing["fan_rotations_per_second"]) == (0.55, NOT_OFFERED)


def test_a_fan_that_does_not_answer_leaves_the_others() -> None:
    assert gpu({**TWO, "gpu.*.fan.1": "unsupported"}).fan_speed_ratio == 0.62
    none = gpu({"gpu.*.fan.count": 2})
    assert (none.fan_speed_ratio, none.missing["fan_speed_ratio"]) == (None, NOT_SUPPORTED)


@pytest.mark.parametrize(("percent", "is_"), [(104, 1.0), (100, 1.0), (900, None)])
def test_above_its_highest_speed(percent: int, is_: float | None) -> None:
    found = gpu({"gpu.*.fan.count": 1, "gpu.*.fan.0": percent})
    assert found.fan_speed_ratio == is_
    assert (is_ is None) == ("fan_speed_ratio" in found.missing)


def test_a_driver_that_does_not_count_fans() -> None:
    found = gpu({**TWO, "gpu.*.fan.count": "unsupported"})
    assert (found.fan_count, found.fan_speed_ratio) == (None, None)
    assert found.missing["fan_speed_ratio"] == found.missing["fan_count"] == NOT_SUPPORTED
