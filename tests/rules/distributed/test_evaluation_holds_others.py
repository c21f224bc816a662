"""An evaluation that the other ranks wait for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gputop.probes.model.rank_readings import Stack

from support.rules_scenes import play
from support.stall_scenes import (
    ALL,
    FROM,
    LOOPING,
    RULES,
    SLEEPING,
    assert_one_finding_with_the_right_rank,
    frames,
    stall,
    without_bytes,
)

EVALUATING = frames(
    "torch/nn/modules/module.py:_call_impl:1773",
    "transformers/trainer.py:evaluation_loop:4471",
    "train.py:main:140",
)


@pytest.mark.parametrize(
    ("victim", "stack"),
    [
        (SLEEPING, EVALUATING),
        (LOOPING, EVALUATING),
    ],
)
def test_one_finding_with_the_right_rank(victim: Mapping[str, Any], stack: Stack | None) -> None:
    assert_one_finding_with_the_right_rank(victim, stack, "RUN421")


@pytest.mark.unmeasured
def test_an_evaluation_is_no_stall_until_the_time_limit_is_near() -> None:
    assert play(stall(SLEEPING, EVALUATING), 120).one("RUN421").severity == "info"
    late = play(without_bytes(stall(SLEEPING, EVALUATING)), 640, interval=5.0).one("RUN421")
    assert late.severity == "warning"


def test_an_evaluation_for_which_nobody_waits_is_none_of_it() -> None:
    """All ranks evaluate, each its part; and a short one ends before the others have waited long."""
    together = stall(SLEEPING, EVALUATING, victims=frozenset(ALL))
    assert not play(together, 60).ever() & RULES
    assert not play(stall(SLEEPING, EVALUATING, until=FROM + 4), 20).ever() & RULES
