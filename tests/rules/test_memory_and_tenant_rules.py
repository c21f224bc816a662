"""Device memory, who holds it, and who else is on the GPU."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.gpu_readings import GpuProcessReading

from support.rules_scenes import (
    BEGAN,
    GIB,
    Changes,
    Script,
    always,
    evidence,
    play,
    process,
    rank_pid,
)

ROOM = 80 * GIB - GIB // 2


def used(ratio: float) -> dict[str, Any]:
    return {"memory_used_bytes": int(ratio * ROOM)}


def test_memory_nearly_full() -> None:
    found = play(always(gpus={1: used(0.985)}), 31, interval=2.0).one("MEM301")
    assert (found.subject.gpu, found.severity) == (1, "warning")
    assert evidence(found, "memory used of available").value == pytest.approx(0.985)


def test_memory_fairly_full_is_information() -> None:
    assert play(always(gpus={1: used(0.96)}), 31, interval=2.0).one("MEM301").severity == "info"


@pytest.mark.parametrize(
    "change",
    [
        used(0.949),
        {"memory_used_bytes": None},
        {"memory_total_bytes": None},
        {**used(0.99), "monotonic_seconds": -60.0},
    ],
    ids=["healthy", "used unknown", "total unknown", "stale"],
)
def test_memory_not_full(change: dict[str, Any]) -> None:
    assert "MEM301" not in play(always(gpus={1: change}), 35, interval=2.0).ever()


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


def tenant(memory: int | None, sm: float | None = None, **own: Any) -> Script:
    """A notebook beside rank 4."""

    def script(second: float) -> Changes:
        rank = GpuProcessReading(pid=rank_pid(4), memory_bytes=60 * GIB, sm_ratio=0.8)
        other = GpuProcessReading(pid=77, memory_bytes=memory, sm_ratio=sm)
        notebook = process(77, BEGAN + second, user="bob", name="jupyter", command=("jupyter",))
        return Changes(gpus={4: {"processes": (rank, other), **own}}, more_processes=[notebook])

    return script


def test_other_tenant() -> None:
    found = play(tenant(3 * GIB), 31).one("ENV601")
    assert (found.subject.gpu, found.severity) == (4, "warning")
    assert evidence(found, "processes").value == "jupyter 77 of bob"
    assert evidence(found, "memory_bytes").value == 3 * GIB


def test_other_tenant_by_its_share_of_time() -> None:
    found = play(tenant(None, 0.2), 31).one("ENV601")
    assert evidence(found, "sm_ratio").value == 0.2


@pytest.mark.parametrize(
    ("memory", "sm", "own"),
    [
        (400_000_000, 0.04, {}),
        (None, None, {}),
        (3 * GIB, None, {"monotonic_seconds": -60.0}),
        (3 * GIB, None, {"processes": None}),
    ],
    ids=["small", "hidden", "stale", "list unreadable"],
)
def test_no_other_tenant(memory: int | None, sm: float | None, own: dict[str, Any]) -> None:
    assert "ENV601" not in play(tenant(memory, sm, **own), 35).ever()


def test_a_child_of_the_rank_is_no_tenant() -> None:
    def script(second: float) -> Changes:
        changes = tenant(3 * GIB)(second)
        child = process(77, BEGAN + second, parent_pid=rank_pid(4), start_time_seconds=5003.0)
        changes.more_processes = [child]
        return changes

    assert "ENV601" not in play(script, 35).ever()


def test_pids_of_another_namespace_are_no_tenants() -> None:
    foreign = (GpuProcessReading(pid=77777, memory_bytes=70 * GIB),)
    assert "ENV601" not in play(always(gpus={4: {"processes": foreign}}), 35, interval=2.0).ever()
