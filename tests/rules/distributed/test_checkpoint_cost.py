"""Saving that takes much of ten minutes, and saving that does not."""

from __future__ import annotations

import pytest

from support.rules_scenes import evidence, play
from support.step_scenes import spends


def saves(seconds: float, every: float = 300.0) -> object:
    return spends(lambda _rank, second: {"checkpoint": 1.0} if second % every < seconds else {})


@pytest.mark.parametrize(("seconds", "severity"), [(30.0, "info"), (90.0, "warning")])
def test_its_share_of_the_time_is_its_price(seconds: float, severity: str) -> None:
    found = play(saves(seconds), 599).one("RUN431")  # type: ignore[arg-type]
    assert found.severity == severity
    assert evidence(found, "checkpoint_ratio").value == pytest.approx(seconds / 300, abs=0.01)
    assert found.lost_ratio == pytest.approx(seconds / 300, abs=0.01)


def test_near_misses() -> None:
    assert "RUN431" not in play(saves(10.0), 599).ever()  # type: ignore[arg-type]
    assert "RUN431" not in play(saves(60.0), 250).ever()  # type: ignore[arg-type]
