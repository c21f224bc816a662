"""Ranks that accumulate over different numbers of micro-batches in the same steps."""

from __future__ import annotations

from collections.abc import Callable

from support.rules_scenes import Script, evidence, play
from support.step_scenes import spends, steps


def accumulates(micro_steps: Callable[[int, float], int]) -> Script:
    return spends(
        lambda _rank, _second: {},
        lambda rank, second: {"steps": steps(second, micro_steps=micro_steps(rank, second))},
    )


def test_the_odd_rank_is_named() -> None:
    found = play(accumulates(lambda rank, _second: 5 if rank == 3 else 4), 60).one("RUN438")
    assert evidence(found, "micro_steps").value == 4.0
    assert evidence(found, "others_have").value == "rank 3: 5"


def test_near_misses() -> None:
    assert "RUN438" not in play(accumulates(lambda _rank, _second: 4), 60).ever()
    last = accumulates(lambda rank, second: 1 if rank == 3 and second % 20 == 0 else 4)
    assert "RUN438" not in play(last, 60).ever()
