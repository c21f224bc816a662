"""Host memory of the job's control group: near its limit, without what the kernel can take back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import GIB


def group(values: Callable[[float], dict[str, Any]]) -> Script:
    return lambda second: Changes(cgroup=values(second))


def used(gib: float, **more: Any) -> dict[str, Any]:
    return {
        "memory_used_bytes": int(gib * GIB),
        "memory_inactive_file_bytes": 0,
        "memory_limit_bytes": 100 * GIB,
        **more,
    }


def test_near_its_limit() -> None:
    found = play(group(lambda _second: used(92)), 40).one("MEM308")
    assert (found.severity, found.subject.kind) == ("warning", "cgroup")
    assert evidence(found, "memory_used_ratio").value == pytest.approx(0.92)


def test_while_it_grows_the_time_that_is_left_is_told() -> None:
    found = play(group(lambda second: used(80 + second / 10)), 190).one("MEM308")
    assert found.severity == "error"
    assert evidence(found, "time_left_seconds").value == pytest.approx(10, abs=4)


@pytest.mark.parametrize(
    "near",
    [
        used(88),
        used(99, memory_inactive_file_bytes=20 * GIB),
        used(99, memory_limit_bytes=None),
        used(99, memory_limit_bytes=None, missing={"memory_limit_bytes": "denied"}),
        used(99, memory_limit_bytes=0),
        used(0, memory_used_bytes=None),
    ],
    ids=["room", "file cache", "no limit", "unknown limit", "none", "unknown"],
)
def test_near_misses(near: dict[str, Any]) -> None:
    assert "MEM308" not in play(group(lambda _second: near), 40).ever()
