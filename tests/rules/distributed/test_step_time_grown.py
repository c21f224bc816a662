"""A pace that has changed, beside one that only varies."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.rules_scenes import Script, evidence, play
from support.step_scenes import FIRST_STEP, spends, steps


def pace(seconds: Callable[[int], float]) -> Script:
    """Steps of these lengths, one told of each second: only their lengths matter here."""
    return spends(
        lambda _rank, _second: {},
        lambda _rank, second: {"steps": steps(second, lambda number: seconds(number - FIRST_STEP))},
    )


@pytest.mark.parametrize(("after", "severity"), [(1.15, "info"), (1.6, "warning")])
def test_slower_steps_are_told_as_a_change(after: float, severity: str) -> None:
    # A page keeps 256 steps: some 70 s of before are left when three minutes of after are seen.
    found = play(pace(lambda at: 1.0 if at < 60 else after), 245).one("RUN436")
    assert (found.severity, found.subject.kind) == (severity, "job")
    assert evidence(found, "step_seconds").value == after
    assert evidence(found, "usual_step_seconds").value == 1.0
    assert found.lost_ratio == pytest.approx(1.0 - 1.0 / after)


@pytest.mark.parametrize(
    "seconds",
    [
        lambda at: 1.0 if at < 60 else 1.05,
        lambda at: 1.6 if at < 60 else 1.0,
        lambda at: 1.0 + (at % 5) * 0.5,
        lambda at: 1.0 if at < 220 else 1.6,
    ],
    ids=["hardly", "faster", "varies", "only just"],
)
def test_near_misses(seconds: Callable[[int], float]) -> None:
    assert "RUN436" not in play(pace(seconds), 245).ever()
