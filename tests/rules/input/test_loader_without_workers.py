"""num_workers 0 is a cause where the job waits for its data, and no matter where it does not."""

from __future__ import annotations

from support.input_scenes import waits_for_data
from support.rules_scenes import play


def test_it_is_the_cause_of_waiting_for_data() -> None:
    played = play(waits_for_data(0.3, num_workers=0), 60)
    assert played.one("INP702").severity == "warning"
    bound = played.one("INP701")
    assert bound.explained_by is not None and bound.explained_by.id == "INP702"


def test_near_misses() -> None:
    assert "INP702" not in play(waits_for_data(0.05, num_workers=0), 60).ever()
    assert "INP702" not in play(waits_for_data(0.3, num_workers=2), 60).ever()
    assert "INP702" not in play(waits_for_data(0.3, num_workers=None), 60).ever()
