"""Processes of others on the GPU of a rank."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.gpu_readings import GpuProcessReading

from support.rules_scenes import (
    Changes,
    Script,
    always,
    evidence,
    play,
)
from support.scene_readings import BEGAN, GIB, process, rank_pid


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
