"""Tensors in use that leave no room, at the peak of a step; a full cache is none of that."""

from __future__ import annotations

import pytest

from support.rules_scenes import play
from support.step_scenes import allocates


@pytest.mark.parametrize(("peak", "severity"), [(75.0, "info"), (78.5, "warning")])
def test_the_peak_of_a_step_counts(peak: float, severity: str) -> None:
    script = allocates(lambda _rank, second: peak if second % 5 == 0 else 50.0, reserved=79)
    found = play(script, 80).all("MEM306")
    assert {each.severity for each in found} == {severity}


def test_near_misses() -> None:
    cache = allocates(lambda _rank, _second: 60.0, reserved=79)
    assert "MEM306" not in play(cache, 80).ever()
    once = allocates(lambda _rank, second: 78.0 if second == 3 else 50.0)
    assert "MEM306" not in play(once, 120).ids()
