"""A main thread that stops for its GPU, which idles afterwards; and one that waits for a busy GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gputop.probes.model.rank_readings import (
    StackFrameReading,
    StackReading,
    StackThreadReading,
)

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import BEGAN, GPUS, rank_pid
from support.step_scenes import spends, steps


def syncs(
    share: float, *, utilization: float, ahead: float | None = 0.001, **others: float
) -> Script:
    """Steps of a second; ``others``: shares of other phases."""

    def more(_rank: int, second: float) -> dict[str, Any]:
        return {"steps": steps(second, run_ahead_seconds=ahead)}

    script = spends(lambda _rank, _second: {"sync": share, **others}, more)

    def busy(second: float) -> Changes:
        return replace(script(second), every_gpu={"utilization_ratio": utilization})

    return busy


def test_a_gpu_that_idles_after_each_wait() -> None:
    found = play(syncs(0.3, utilization=0.6), 75).one("RUN439")
    assert (found.subject.kind, found.severity) == ("job", "warning")
    assert evidence(found, "sync_ratio").value == pytest.approx(0.3, abs=0.01)
    assert evidence(found, "idle_ratio").value == pytest.approx(0.4, abs=0.01)
    assert evidence(found, "run_ahead_ratio").value == pytest.approx(0.001)
    assert found.price.lost_ratio == pytest.approx(0.4, abs=0.01)
    assert found.price.origin == "inferred"


def test_what_other_phases_let_idle_is_not_counted() -> None:
    found = play(syncs(0.3, utilization=0.6, data=0.25), 75).one("RUN439")
    assert found.price.lost_ratio == pytest.approx(0.15, abs=0.01)


@pytest.mark.parametrize(
    "script",
    [
        syncs(0.6, utilization=0.97),
        syncs(0.05, utilization=0.6),
        syncs(0.3, utilization=0.6, data=0.35),
        syncs(0.3, utilization=0.6, ahead=0.2),
        syncs(0.0, utilization=0.6),
    ],
    ids=["bound by the GPU", "few", "it waits for data", "far ahead", "none"],
)
def test_near_misses(script: Script) -> None:
    assert "RUN439" not in play(script, 75).ever()


def sampled(samples: dict[str, int], utilization: float = 0.6) -> Script:
    """Stacks of all ranks and no probe."""
    frames = (
        StackFrameReading(name="synchronize", file="torch/cuda/__init__.py", line=10),
        StackFrameReading(name="log_loss", file="train.py", line=88),
    )

    def script(second: float) -> Changes:
        stacks = [
            StackReading(
                monotonic_seconds=BEGAN + second,
                pid=rank_pid(rank),
                start_time_seconds=5001.0,
                threads=(StackThreadReading(frames=frames, main=True),),
                main_stacks=(frames,),
                taken=1,
                phase_samples=samples,
            )
            for rank in range(GPUS)
        ]
        return Changes(stacks=stacks, every_gpu={"utilization_ratio": utilization})

    return script


def test_stacks_are_enough() -> None:
    found = play(sampled({"sync": 60, "forward": 140}), 45).one("RUN439")
    assert evidence(found, "sync_ratio").value == pytest.approx(0.3)
    assert evidence(found, "sync_ratio").origin == "sampled"
    assert "log_loss (train.py:88)" in found.next_step


@pytest.mark.parametrize(
    ("samples", "utilization"),
    [
        ({"sync": 20, "forward": 30}, 0.6),
        ({"sync": 10, "forward": 190}, 0.6),
        ({"sync": 120, "forward": 80}, 0.97),
        ({"sync": 60, "data": 80, "forward": 60}, 0.6),
    ],
    ids=["few stacks", "seldom", "bound by the GPU", "it waits for data"],
)
def test_near_misses_of_stacks(samples: dict[str, int], utilization: float) -> None:
    assert "RUN439" not in play(sampled(samples, utilization), 45).ever()


def test_without_probe_or_stacks_it_is_not_evaluated() -> None:
    played = play(lambda _: Changes(every_gpu={"utilization_ratio": 0.6}), 10)
    assert "RUN439" in {each.id for each in played.last.not_evaluated}
