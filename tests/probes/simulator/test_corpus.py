"""The simulated corpus is told truly: each cause first, and nothing of what is well.

``pytest -m bench -s tests/bench/test_simulated_corpus.py`` prints it as a table.
"""

from __future__ import annotations

import pytest

from gputop.probes.simulator import SCENARIOS
from gputop.rules.catalogue import RULES

from support.scenarios import FAULTS, HEALTHY
from support.simulated_corpus import LOOK_SECONDS, watched

KNOWN = {
    "elastic-restart": "the end of all ranks is an error until they train again, and information from then on"
}
"""Healthy runs in which something is said for a while, and why that stands."""
FADES = {
    "congested-infiniband": "a full counter tells nothing new: what it said counts for five minutes"
}
"""Faults of which the last look has the symptom alone, and why."""
SOON_SECONDS = 72.0 + 2 * LOOK_SECONDS
SLOWER_SECONDS = {
    "outlier-steps": 100.0,  # one step in eight: so many steps are to be seen
    "load-imbalance": 85.0,  # each rank has to be the last one in turn
    "loader-stalls": 85.0,  # every fourth step: so many steps are to be seen
    "no-tensor-cores": 110.0,  # a minute of a mean, and a minute of start-up
    "loader-workers-die": 110.0,  # one that is replaced once is no finding
}
"""Until the cause is told, counted from the onset; most of it is what the window of the rule lasts."""


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.unmeasured
def test_a_healthy_run_is_left_alone(name: str) -> None:
    outcome = watched(name)
    assert bool(outcome.alarms) == (name in KNOWN), outcome.alarms
    assert not outcome.roots and not outcome.flaps


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.unmeasured
def test_a_healthy_run_is_left_alone_without_probes(name: str) -> None:
    outcome = watched(name, look_seconds=8.0, probes=False)
    assert bool(outcome.alarms) == (name in KNOWN), outcome.alarms
    assert not outcome.roots and not outcome.flaps


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.unmeasured
def test_a_fault_is_still_told_after_minutes(name: str) -> None:
    outcome = watched(name)
    assert outcome.flagged_seconds is not None
    assert outcome.flagged_seconds <= SLOWER_SECONDS.get(name, SOON_SECONDS)
    assert outcome.is_exact != (name in FADES), outcome.first
    assert not outcome.alarms and not outcome.flaps
    assert not outcome.gone


def test_there_are_enough_healthy_ones() -> None:
    assert len(HEALTHY) >= 25


def test_rules_named_in_scenarios_exist() -> None:
    known = {rule.id for rule in RULES}
    for scenario in SCENARIOS.values():
        assert {*scenario.finds, *scenario.beside, *scenario.nearly} <= known, scenario.name
        assert not set(scenario.nearly) & {*scenario.finds, *scenario.beside}
