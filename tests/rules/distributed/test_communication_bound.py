"""Communication that all ranks wait in alike; a rank that the others wait for is another matter."""

from __future__ import annotations

import pytest

from support.replays import replay
from support.rules_scenes import always, evidence, play
from support.scene_readings import on_many_nodes
from support.step_scenes import spends


def test_a_third_of_the_time_in_collectives_on_all_ranks() -> None:
    found = play(spends(lambda _rank, _second: {"comm": 0.33}), 80).one("RUN430")
    assert (found.severity, found.subject.kind) == ("warning", "job")
    assert evidence(found, "exposed_communication_ratio").value == pytest.approx(0.33, abs=0.01)
    assert found.lost_ratio == pytest.approx(0.33, abs=0.01)


def test_a_fifth_is_information() -> None:
    found = play(spends(lambda _rank, _second: {"comm": 0.2}), 80).one("RUN430")
    assert found.severity == "info"


def test_near_misses() -> None:
    assert "RUN430" not in play(spends(lambda _rank, _second: {"comm": 0.12}), 80).ever()
    late = spends(lambda rank, _second: {"comm": 0.02 if rank == 3 else 0.4})
    assert "RUN430" not in play(late, 80).ever()
    assert "RUN430" not in play(always(processes=on_many_nodes()), 5).ever()


@pytest.mark.parametrize(
    ("scenario", "cause"),
    [("link-down", "LNK506"), ("two-islands", "LNK505"), ("congested-infiniband", "LNK509")],
)
def test_the_link_that_brings_it_about_is_its_cause(scenario: str, cause: str) -> None:
    first, *rest = replay(scenario).last.active
    assert first.id == cause
    bound = next(each for each in rest if each.id == "RUN430")
    assert bound.explained_by is not None and bound.explained_by.id == cause
    assert first.lost_ratio == bound.lost_ratio  # a cause without a price has its symptom's
