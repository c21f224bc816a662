"""A job that its CPU quota stops."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.host_readings import PressureReading

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import BEGAN, GPUS, JOB_GROUP


def throttled(ratio: float, **more: Any) -> Script:
    def script(second: float) -> Changes:
        periods = int(10 * (BEGAN + second))
        group = {"cpu_throttled_periods": int(ratio * periods), "cpu_quota_cores": 40.0}
        return Changes(cgroup={**group, **more})

    return script


def test_cpu_throttling() -> None:
    found = play(throttled(0.2), 41).one("HST110")
    assert (found.subject.kind, found.subject.id, found.severity) == (
        "cgroup",
        JOB_GROUP,
        "warning",
    )
    assert found.subject.job is not None
    assert evidence(found, "throttled_ratio").value == pytest.approx(0.2, abs=0.02)
    assert evidence(found, "cpu_quota_cores").value == 40


def test_heavy_throttling_of_a_job_that_starves_is_an_error() -> None:
    def script(second: float) -> Changes:
        changes = throttled(0.5)(second)
        changes.every_gpu = {"utilization_ratio": 0.4, "sm_active_ratio": 0.3}
        return changes

    played = play(script, 45)
    assert played.one("HST110").severity == "error"
    low = played.all("HW210")
    assert len(low) == GPUS
    assert {each.explained_by and each.explained_by.id for each in low} == {"HST110"}


def test_one_moment_without_work_makes_no_error() -> None:
    """The mean is judged: between two batches a GPU is idle at many a look."""

    def script(second: float) -> Changes:
        changes = throttled(0.5)(second)
        changes.every_gpu = {"utilization_ratio": 0.0 if second % 3 == 0 else 1.0}
        return changes

    found = play(script, 60)
    assert found.one("HST110").severity == "warning"
    least = evidence(found.one("HST110"), "least_utilization_ratio")
    assert least.value == pytest.approx(0.67, abs=0.04)
    assert least.mean_seconds is not None


def test_heavy_throttling_of_a_job_that_does_well_is_a_warning() -> None:
    assert play(throttled(0.5), 41).one("HST110").severity == "warning"


@pytest.mark.parametrize(
    "script",
    [throttled(0.04), throttled(0.5, cpu_periods=None), throttled(0.5, monotonic_seconds=-60.0)],
    ids=["little", "unknown", "stale"],
)
def test_no_cpu_throttling(script: Script) -> None:
    assert "HST110" not in play(script, 45, interval=2.0).ever()


def test_a_burst_of_throttling_at_the_start_is_none() -> None:
    def script(second: float) -> Changes:
        done = int(10 * (BEGAN + min(second, 2)))
        return Changes(cgroup={"cpu_throttled_periods": done})

    # Its mean over half a minute stays above the limit for longer than it lasted.
    assert "HST110" not in play(script, 9).ever()


def test_pressure_in_the_group_is_evidence_of_its_throttling() -> None:
    def script(second: float) -> Changes:
        changes = throttled(0.2)(second)
        moment = BEGAN + second
        group = PressureReading(
            path=JOB_GROUP, monotonic_seconds=moment, pressure_cpu_some_seconds=0.6 * moment
        )
        changes.pressures = (group,)
        return changes

    waited = evidence(play(script, 41).one("HST110"), "pressure_cpu_ratio")
    assert waited.value == pytest.approx(0.6)
    without = play(throttled(0.2), 41).one("HST110")
    assert "pressure_cpu_ratio" not in {each.signal for each in without.evidence}
