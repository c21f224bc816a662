"""Stages of a pipeline that stand idle at the beginning and the end of each step."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.probe_readings import CollectiveReading

from support.pace_scenes import STEP, ends_steps, longer
from support.rules_scenes import (
    Script,
    evidence,
    healthy,
    play,
)
from support.scene_readings import GPUS

PIPELINE = "mesh_pp"


def stages(count: int, group: str = PIPELINE) -> Any:
    """Pages on which the ranks say who is which stage: ``GPUS / count`` pipelines side by side."""

    def page(rank: int) -> dict[str, Any]:
        first = rank % (GPUS // count)
        ranks = tuple(range(first, GPUS, GPUS // count))
        reading = CollectiveReading(group=group, sequence=0, operation="recv", ranks=ranks)
        return {"collectives": (reading,)}

    return page


def bubbles(
    waits: float, micro_steps: int, *, count: int = 4, group: str = PIPELINE, last: float = 0.0
) -> Script:
    """Each waits so long in a step; the last stage has ``last`` seconds more to do."""
    return ends_steps(
        lambda rank, _step: {
            **longer("forward", last if rank >= GPUS - GPUS // count else 0.0),
            "comm": waits,
        },
        fields=lambda _rank, _step: {"micro_steps": micro_steps},
        page=stages(count, group),
    )


def test_too_few_micro_batches() -> None:
    played = play(bubbles(0.56, 6), 60)
    found = played.one("RUN444")
    assert (found.subject.kind, found.severity) == ("job", "warning")
    assert evidence(found, "pipeline_stages").value == 4.0
    assert evidence(found, "micro_batches").value == 6.0
    assert evidence(found, "expected_bubble_ratio").value == pytest.approx(3 / 9)
    assert evidence(found, "bubble_ratio").value == pytest.approx(0.56 / 1.52, rel=0.05)
    assert found.lost_ratio == pytest.approx(0.56 / 1.52, rel=0.05)
    assert "micro-batches" in found.next_step
    low = [each for each in played.last.active if each.id == "RUN430"]
    assert all(each.explained_by and each.explained_by.id == "RUN444" for each in low)


def test_more_than_the_schedule_makes() -> None:
    found = play(bubbles(0.56, 32), 60).one("RUN444")
    assert "slow link between stages" in found.next_step


@pytest.mark.parametrize(
    "script",
    [
        bubbles(0.12, 30),
        bubbles(0.56, 6, group="mesh_dp"),
        bubbles(0.05, 30, last=0.6),
        ends_steps(lambda _rank, _step: {**STEP, "comm": 0.56}),
        healthy,
    ],
    ids=["small", "no pipeline", "the last stage has more to do", "all-reduce", "no probe"],
)
def test_near_misses(script: Script) -> None:
    assert "RUN444" not in play(script, 50).ever()
