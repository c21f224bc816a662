"""Each scenario is found by the rules it names when the screen first draws; the healthy node is clean."""

from __future__ import annotations

import pytest

from gputop.probes.derive import derive
from gputop.probes.frame import Frame
from gputop.probes.simulator import SCENARIOS, SimulatedNode
from gputop.rules.catalogue import RULES, make_rules
from gputop.rules.engine import Engine

PAST_SECONDS = 120


def active_ids(scenario: str) -> set[str]:
    """What is active after the past that a demonstration shows at once."""
    node = SimulatedNode(scenario, start_time_seconds=1.79e9)
    engine = Engine(make_rules())
    frame: Frame | None = None
    found: set[str] = set()
    for elapsed in range(-PAST_SECONDS, 1, 2):
        frame = derive(frame, node.sample_at(float(elapsed)))
        found = {finding.id for finding in engine.judge(frame).active}
    return found


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_rules_find_what_the_scenario_names(scenario: str) -> None:
    assert set(SCENARIOS[scenario].finds) <= active_ids(scenario)


def test_the_healthy_node_has_no_findings() -> None:
    assert active_ids("healthy") == set()


def test_only_rules_that_exist_are_named() -> None:
    known = {rule.id for rule in RULES}
    assert {id_ for scenario in SCENARIOS.values() for id_ in scenario.finds} <= known
