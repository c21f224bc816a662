"""Evaluation that takes much of ten minutes is told, and is no fault."""

from __future__ import annotations

import pytest

from support.rules_scenes import Script, play
from support.step_scenes import spends


def evaluates(seconds: float) -> Script:
    return spends(lambda _rank, second: {"eval": 1.0} if second % 60 < seconds else {})


def test_a_quarter_of_the_time() -> None:
    found = play(evaluates(15.0), 599).one("RUN432")
    assert found.severity == "info"
    assert found.lost_ratio == pytest.approx(0.25, abs=0.01)


def test_near_misses() -> None:
    assert "RUN432" not in play(evaluates(10.0), 599).ever()
    assert "RUN432" not in play(evaluates(30.0), 200).ever()
