"""A thread that keeps the interpreter from the main one, by many dumps; and main threads that wait otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.rank_readings import Stack, StackReading, StackThreadReading

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import BEGAN, rank_pid
from support.stall_scenes import frames, thread

OWN = frames("train.py:collate:88", "train.py:main:111")
MODEL = frames("torch/nn/modules/linear.py:forward:134", "train.py:main:111")
QUEUE = frames("torch/utils/data/dataloader.py:_try_get_data:9", "train.py:main:111")
BACKWARD = frames("torch/autograd/graph.py:_engine_run_backward:8", "train.py:main:111")
WRAPPER = frames("torch/nn/parallel/distributed.py:forward:8", "train.py:main:111")


def contends(
    share: float = 0.4,
    *,
    main: Stack = OWN,
    utilization: float = 0.5,
    owner: dict[str, Any] | None = None,
    running: bool = False,
    channel: str = "futex_do_wait",
    since: float = 0.0,
) -> Script:
    """Rank 3 is looked at each second; in that share of the looks its logger has the interpreter."""
    logs = {"owns_gil": True, "active": True, **(owner or {})}

    def script(second: float) -> Changes:
        taken = (second * 7) % 10 < share * 10
        threads = (
            StackThreadReading(
                frames=main, name="MainThread", main=True, active=running, owns_gil=not taken
            ),
            StackThreadReading(
                frames=frames("metrics.py:flush:12", "threading.py:run:9"),
                name="logger",
                **(logs if taken else {}),
            ),
        )
        stacks = StackReading(
            monotonic_seconds=BEGAN + second,
            pid=rank_pid(3),
            start_time_seconds=5001.0,
            threads=threads,
            main_stacks=(main,),
            taken=1 + int(second),
        )
        return Changes(
            stacks=[stacks] if second >= since else [],
            threads=[
                thread(3, second, 0.0, wait_channel=channel, voluntary_switches=int(300 * second))
            ],
            every_gpu={"utilization_ratio": utilization},
        )

    return script


def test_a_thread_that_keeps_the_interpreter() -> None:
    played = play(contends(), 100)
    found = played.one("RUN440")
    assert (found.subject.kind, found.subject.rank, found.severity) == ("rank", 3, "warning")
    assert evidence(found, "taken_ratio").value == pytest.approx(0.4, abs=0.03)
    assert evidence(found, "taken_ratio").origin == "sampled"
    assert found.price.lost_ratio == pytest.approx(0.4, abs=0.03)
    held = [
        each
        for judged in played.judgements
        for finding in judged.active
        for each in finding.evidence
        if each.signal == "interpreter_held_by"
    ]
    assert held[0].value == "thread logger at flush (metrics.py:12)"


def test_within_the_model_it_is_python_too() -> None:
    assert "RUN440" in play(contends(main=MODEL), 100).ids()


def test_only_what_the_gpu_idles_is_lost() -> None:
    found = play(contends(utilization=0.9), 100).one("RUN440")
    assert found.price.lost_ratio == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize(
    "changes",
    [
        {"share": 0.1},
        {"main": QUEUE},
        {"main": BACKWARD},
        {"main": WRAPPER},
        {"utilization": 0.99},
        {"owner": {"active": False}},
        {"owner": {"owns_gil": False}},
        {"running": True},
        {"channel": "hrtimer_nanosleep"},
        {"since": 75.0},
    ],
    ids=[
        *("seldom", "waits for data", "runs the backward", "in DDP", "the GPU is busy"),
        *("the owner sleeps", "nobody has it", "the main thread runs", "it sleeps", "few looks"),
    ],
)
def test_near_misses(changes: dict[str, Any]) -> None:
    assert "RUN440" not in play(contends(**changes), 100).ever()
