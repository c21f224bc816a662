"""Samples a second that differ from step to step."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from support.pace_scenes import STEP, Phases, ends_steps, longer
from support.rules_scenes import (
    Script,
    evidence,
    healthy,
    play,
)


def draws(
    spread: float,
    fields: Callable[[int, int], dict[str, Any]] | None = None,
    phase: str = "forward",
) -> Script:
    def phases(_rank: int, step: int) -> Phases:
        return longer(phase, abs(random.Random(step).gauss(0.0, spread)))

    return ends_steps(phases, fields=fields or (lambda _rank, _step: {"samples": 32.0}))


def test_a_spread_above_the_goal() -> None:
    found = play(draws(0.25), 120).one("RUN443")
    assert (found.subject.kind, found.severity) == ("job", "info")
    told = evidence(found, "throughput_spread_ratio")
    assert isinstance(told.value, float) and 0.06 < told.value < 0.2
    assert (told.threshold, told.comparison) == (0.03, "≥")
    assert found.price.reason


def tokens_of_the_length(_rank: int, step: int) -> dict[str, Any]:
    seconds = 1.0 + abs(random.Random(step).gauss(0.0, 0.25))
    return {"samples": 32.0, "tokens": 5000.0 * seconds}


@pytest.mark.parametrize(
    "script",
    [
        draws(0.02),
        draws(0.25, tokens_of_the_length),
        draws(0.25, lambda _rank, _step: {}),
        draws(2.0, phase="checkpoint"),
        ends_steps(
            lambda _rank, step: longer("forward", 0.5) if step > 140 else STEP,
            fields=lambda _rank, _step: {"samples": 32.0},
        ),
        healthy,
    ],
    ids=["steady", "tokens are even", "not told", "saves", "another pace", "no probe"],
)
def test_near_misses(script: Script) -> None:
    assert "RUN443" not in play(script, 110).ever()
