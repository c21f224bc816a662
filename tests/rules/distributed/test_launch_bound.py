"""A host that is too slow for its GPU: four witnesses, each of which alone is none."""

from __future__ import annotations

from typing import Any

import pytest

from support.rules_scenes import Changes, Script, play
from support.stall_scenes import thread
from support.step_scenes import spends, steps


def launches(
    *, utilization: float = 0.4, cores: float = 0.99, ahead: float = 0.001, comm: float = 0.0
) -> Script:
    base = spends(
        lambda _rank, _second: {"comm": comm},
        lambda _rank, second: {"steps": steps(second, run_ahead_seconds=ahead)},
    )

    def script(second: float) -> Changes:
        changes = base(second)
        changes.every_gpu = {"utilization_ratio": utilization}
        changes.threads = [
            thread(rank, second, 0.0, cpu_seconds=100.0 + cores * second, state="R")
            for rank in range(8)
        ]
        return changes

    return script


def test_all_four_witnesses_together() -> None:
    found = play(launches(), 80).all("RUN437")
    assert {each.subject.rank for each in found} == set(range(8))
    assert found[0].lost_ratio == pytest.approx(0.6, abs=0.01)


@pytest.mark.parametrize(
    "near",
    [{"utilization": 0.9}, {"cores": 0.5}, {"ahead": 0.3}, {"comm": 0.4}],
    ids=["the GPU is busy", "the host idles", "it runs ahead", "it waits for others"],
)
def test_near_misses(near: dict[str, Any]) -> None:
    assert "RUN437" not in play(launches(**near), 80).ever()
