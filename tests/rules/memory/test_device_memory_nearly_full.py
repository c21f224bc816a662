"""Device memory that is nearly full."""

from __future__ import annotations

from typing import Any

import pytest

from support.rules_scenes import always, evidence, play
from support.scene_readings import GIB

ROOM = 80 * GIB - GIB // 2


def used(ratio: float) -> dict[str, Any]:
    return {"memory_used_bytes": int(ratio * ROOM)}


def test_memory_nearly_full() -> None:
    found = play(always(gpus={1: used(0.985)}), 31, interval=2.0).one("MEM301")
    assert (found.subject.gpu, found.severity) == (1, "warning")
    assert evidence(found, "memory_used_of_available_ratio").value == pytest.approx(0.985)


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
