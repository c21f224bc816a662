"""One rank that is much fuller than the others."""

from __future__ import annotations

import pytest

from support.rules_scenes import evidence, play
from support.step_scenes import allocates


@pytest.mark.parametrize(("most", "severity"), [(60.0, "info"), (75.0, "warning")])
def test_the_fullest_and_the_emptiest_are_named(most: float, severity: str) -> None:
    script = allocates(lambda rank, _second: {0: most, 5: 29.0}.get(rank, 40.0))
    found = play(script, 60).one("MEM307")
    assert (found.severity, found.subject.kind) == (severity, "job")
    assert evidence(found, "fullest_rank").value == "0"
    assert evidence(found, "emptiest_rank").value == "5"


def test_near_misses() -> None:
    alike = allocates(lambda rank, _second: 50.0 + rank)
    assert "MEM307" not in play(alike, 60).ever()
    empty = allocates(lambda rank, _second: 20.0 if rank else 39.0)
    assert "MEM307" not in play(empty, 60).ever()
