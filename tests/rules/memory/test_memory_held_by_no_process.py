"""Device memory that no living process holds."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.gpu_readings import GpuProcessReading

from support.rules_scenes import (
    Changes,
    always,
    evidence,
    play,
)
from support.scene_readings import BEGAN, GIB, process


def held(second: float, **gpu: Any) -> Changes:
    """GPU 2 holds memory without a job, on a node where one process is seen on GPU 0."""
    moment = BEGAN + second
    seen = GpuProcessReading(pid=50, memory_bytes=GIB)
    gpus = {
        0: {"processes": (seen,), "memory_used_bytes": GIB},
        2: {"utilization_ratio": 0.0, "memory_used_bytes": 30 * GIB, "processes": (), **gpu},
    }
    return Changes(without_job=True, gpus=gpus, more_processes=[process(50, moment)])


def test_memory_held_by_no_process() -> None:
    found = play(held, 31).one("MEM302")
    assert (found.subject.gpu, found.severity, found.confidence) == (2, "warning", 0.9)
    memory = evidence(found, "memory_used_bytes")
    assert (memory.value, memory.threshold) == (30 * GIB, GIB)
    assert evidence(found, "processes").value == "none listed"


def test_memory_held_by_the_dead() -> None:
    dead = (GpuProcessReading(pid=77, memory_bytes=29 * GIB),)
    found = play(lambda second: held(second, processes=dead), 31).one("MEM302")
    assert evidence(found, "processes").value == "77 (dead)"


def test_memory_held_by_a_zombie() -> None:
    def script(second: float) -> Changes:
        changes = held(second, processes=(GpuProcessReading(pid=77, memory_bytes=29 * GIB),))
        zombie = process(77, BEGAN + second, state="Z", command=())
        changes.more_processes = [*changes.more_processes, zombie]
        return changes

    assert [each.subject.gpu for each in play(script, 31).all("MEM302")] == [2]


@pytest.mark.parametrize(
    "change",
    [
        {"memory_used_bytes": GIB},
        {"memory_used_bytes": 2 * GIB, "memory_reserved_bytes": None},
        {"processes": None},
        {"utilization_ratio": 0.5},
        {"mig_mode": True},
        {"processes": (GpuProcessReading(pid=50, memory_bytes=29 * GIB),)},
        {"monotonic_seconds": -60.0},
    ],
    ids=["little", "reserve not apart", "list unreadable", "works", "mig", "alive", "stale"],
)
def test_memory_held_by_somebody(change: dict[str, Any]) -> None:
    assert "MEM302" not in play(lambda second: held(second, **change), 35).ever()


def test_pids_of_another_namespace_are_not_dead() -> None:
    foreign = {"processes": (GpuProcessReading(pid=77, memory_bytes=29 * GIB),)}
    gpus = {2: {"utilization_ratio": 0.0, "memory_used_bytes": 30 * GIB, **foreign}}
    assert "MEM302" not in play(always(without_job=True, gpus=gpus), 35, interval=2.0).ever()
