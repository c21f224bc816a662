"""Which children of a rank load its data."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.rules.loader_workers import loader_workers

from support.rules_scenes import Changes, play
from support.stall_scenes import thread
from support.wait_scenes import child_of

CHILD = 3000


@pytest.mark.parametrize(
    ("child", "counts"),
    [
        ({"name": "pt_data_worker"}, True),
        ({"name": "pt_data_worker", "state": "Z", "command": None}, False),
        ({"name": "python", "command": ("wandb-core",)}, False),
    ],
)
def test_only_living_loaders_count(child: dict[str, Any], counts: bool) -> None:
    def script(second: float) -> Changes:
        return Changes(more_processes=[child_of(0, second, CHILD, **child)])

    frame = play(script, 2).last.frame
    rank = frame.running[0].ranks[0]
    assert CHILD in rank.workers
    assert (CHILD in {each.pid for each in loader_workers(rank, frame)}) is counts


@pytest.mark.parametrize(("state", "compiles"), [("R", True), ("Z", False)])
def test_a_compiler_that_has_ended_compiles_nothing(state: str, compiles: bool) -> None:
    def script(second: float) -> Changes:
        child = child_of(0, second, CHILD, name="cc1plus", state=state)
        return Changes(threads=[thread(0, second, 0.0)], more_processes=[child])

    phase = play(script, 2).last.frame.running[0].ranks[0].phase
    assert (phase == "compile") is compiles
