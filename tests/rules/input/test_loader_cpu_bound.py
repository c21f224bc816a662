"""Workers that keep a core busy each while the job waits for them."""

from __future__ import annotations

import pytest

from support.input_scenes import waits_for_data
from support.rules_scenes import evidence, play


def test_workers_that_are_busy_are_the_cause() -> None:
    played = play(waits_for_data(0.3, cores=0.97), 60)
    found = played.one("INP703")
    assert evidence(found, "worker_cpu_cores").value == pytest.approx(0.97, abs=0.01)
    bound = played.one("INP701")
    assert bound.explained_by is not None and bound.explained_by.id == "INP703"


def test_near_misses() -> None:
    assert "INP703" not in play(waits_for_data(0.3, cores=0.7), 60).ever()
    assert "INP703" not in play(waits_for_data(0.05, cores=0.97), 60).ever()
