"""The scripted cause of every scenario is its first finding, and nothing else stands beside it on its own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gputop.probes.simulator import SCENARIOS
from gputop.rules.catalogue import RULES
from gputop.rules.finding import Finding
from gputop.tui.drawing.finding_words import subject_text

from support.replays import replay
from support.scenarios import FAULTS, HEALTHY


def told(finding: Finding) -> tuple[str, str, str]:
    return (finding.id, finding.severity, subject_text(finding.subject))


def weighty(findings: Sequence[Finding]) -> list[Finding]:
    """Without information."""
    return [each for each in findings if each.severity != "info"]


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.unmeasured
def test_the_cause_is_the_first_finding(name: str) -> None:
    scenario = SCENARIOS[name]
    found = replay(name).last.active
    assert told(found[0]) == (scenario.finds[0], scenario.severity, scenario.about)


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.unmeasured
def test_symptoms_fold_under_the_cause(name: str) -> None:
    """Others of the cause's own kind, as of each port of a fabric, are drawn in its line."""
    found = replay(name).last.active
    beside = [each for each in weighty(found) if each.explained_by is None]
    first = SCENARIOS[name].finds[0] if SCENARIOS[name].severity != "info" else None
    wanted = {first, *SCENARIOS[name].beside} - {None}
    assert {each.id for each in beside} == wanted, [*map(told, beside)]
    symptoms = SCENARIOS[name].finds[1:]
    folded = {each.id for each in found if each.explained_by is not None}
    assert set(symptoms) <= folded


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.unmeasured
def test_a_healthy_run_has_nothing_to_get_up_for(name: str) -> None:
    assert [*map(told, weighty(replay(name).last.active))] == []


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.unmeasured
def test_nothing_was_found_on_the_way_that_is_not_there_at_the_end(name: str) -> None:
    ever = replay(name).ever - {rule.id for rule in RULES if rule.severity == "info"}
    assert not ever - {each.id for each in replay(name).last.active}
