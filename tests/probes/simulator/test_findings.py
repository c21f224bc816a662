"""Each scenario is found by the rules it names when the screen first draws; the healthy node is clean."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gputop.probes.derive.cache import DeriveCache
from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.simulator import SCENARIOS, SimulatedNode
from gputop.rules.catalogue import RULES, make_rules
from gputop.rules.engine import Engine
from gputop.rules.finding import Finding

from support.replays import PAST_SECONDS, replay
from support.scenarios import FAULTS


def active_ids(scenario: str) -> set[str]:
    """Ids of what is active after the past that a demonstration shows at once."""
    return {finding.id for finding in last_findings(scenario)}


def last_findings(scenario: str) -> tuple[Finding, ...]:
    """What is active after that past."""
    return replay(scenario).last.active


def test_the_healthy_node_has_no_findings() -> None:
    assert active_ids("healthy") == set()


def test_only_rules_that_exist_are_named() -> None:
    known = {rule.id for rule in RULES}
    assert {id_ for scenario in SCENARIOS.values() for id_ in scenario.finds} <= known


def every_finding(scenario: str, step: int) -> Iterator[Finding]:
    """Every finding of every moment, with thresholds that nothing else could have as its own."""
    node = SimulatedNode(scenario, start_time_seconds=1.79e9)
    engine = Engine(make_rules(ODD))
    frame: Frame | None = None
    cache = DeriveCache()
    for elapsed in range(-PAST_SECONDS, 1, step):
        frame = derive(frame, node.sample_at(float(elapsed)), cache)
        yield from engine.judge(frame).findings


SEVERITIES = {rule.id: rule.severities or (rule.severity,) for rule in RULES}
ODD = {
    rule.id: {name: threshold.value * 1.0123 for name, threshold in rule.thresholds.items()}
    for rule in RULES
}


@pytest.mark.unmeasured
def test_evidence_is_shown_beside_the_threshold_that_it_was_judged_by() -> None:
    """Not beside another number that the screen would show as the reason."""
    seen: set[tuple[str, str]] = set()
    for scenario in FAULTS:
        for finding in every_finding(scenario, 6):
            declared = SEVERITIES[finding.id]
            assert finding.severity in declared, (finding.id, finding.severity)
            for evidence in finding.evidence:
                limit = ODD[finding.id].get(evidence.signal)
                if limit is not None and evidence.comparison not in ("", "against"):
                    assert evidence.threshold == limit, (finding.id, evidence)
                    seen.add((finding.id, evidence.signal))
    assert ("HW201", "temperature_celsius") in seen and len(seen) >= 5


def test_a_rank_that_died_is_the_cause_of_the_spinning() -> None:
    findings = list(last_findings("rank-exited"))
    (gone,) = [each for each in findings if each.id == "RUN424"]
    assert (gone.subject.rank, gone.severity) == (5, "error")
    causes = {each.explained_by.id for each in findings if each.id == "HW211" and each.explained_by}
    assert causes == {"RUN424"}
    assert len(gone.explains) == 7


def test_a_straggler_is_the_cause_of_low_utilization() -> None:
    findings = last_findings("straggler")
    (late,) = [each for each in findings if each.id == "RUN407"]
    assert (late.subject.rank, late.severity) == (3, "warning")
    assert "Storage" in late.next_step
    low = [each.explained_by for each in findings if each.id == "HW210"]
    assert len(low) == 8 and all(cause and cause.id == "RUN407" for cause in low)


@pytest.mark.parametrize("scenario", ["straggler", "input-bound"])
@pytest.mark.unmeasured
def test_loaders_that_wait_by_turns_are_not_suspected_to_be_stuck(scenario: str) -> None:
    node = SimulatedNode(scenario, start_time_seconds=1.79e9)
    engine = Engine(make_rules())
    frame: Frame | None = None
    cache = DeriveCache()
    for elapsed in range(-PAST_SECONDS, 61):
        frame = derive(frame, node.sample_at(float(elapsed)), cache)
        found = {each.id for each in engine.judge(frame).findings}
        assert "HST107" not in found, elapsed
