"""A rule that cannot see says so; one that sees nothing wrong does not."""

from __future__ import annotations

from collections.abc import Iterable

from gputop.probes.derive.frame import derive
from gputop.probes.model.sample import SourceStatus
from gputop.rules.engine import Engine
from gputop.rules.finding import Verdict
from gputop.rules.rule import Rule, Scene

from support.rules_scenes import (
    Changes,
    always,
    healthy,
    play,
    sample,
    with_probes,
)

TEMPERATURE = {"temperature_celsius": None, "missing": {"temperature_celsius": "no permission"}}


def not_evaluated(played_rules: Iterable[object]) -> dict[str, str]:
    return {rule.id: rule.reason for rule in played_rules}  # type: ignore[attr-defined]


def test_a_healthy_node_is_seen_by_all() -> None:
    assert play(with_probes(healthy), 10).last.not_evaluated == ()


def test_a_healthy_job_has_no_findings() -> None:
    played = play(healthy, 75)
    assert all(not judgement.findings for judgement in played.judgements)


def test_a_missing_signal_makes_its_rules_not_evaluated() -> None:
    last = play(with_probes(always(every_gpu=TEMPERATURE)), 10).last
    assert not_evaluated(last.not_evaluated) == {"HW201": "no permission"}
    assert last.rules > 10


def test_one_gpu_that_cannot_be_looked_at_is_enough() -> None:
    assert not_evaluated(
        play(with_probes(always(gpus={5: TEMPERATURE})), 10).last.not_evaluated
    ) == {"HW201": "no permission"}


def test_a_gpu_that_is_lost_makes_no_rule_not_evaluated() -> None:
    assert play(with_probes(always(gpus={5: {"lost": True}})), 10).last.not_evaluated == ()


def test_without_events_no_xid_can_be_known() -> None:
    denied = SourceStatus(name="nvml events", status="denied", reason="no permission")
    assert not_evaluated(play(with_probes(always(sources=(denied,))), 10).last.not_evaluated) == {
        "HW206": "no permission"
    }


def test_a_rule_that_failed_is_not_evaluated_from_then_on() -> None:
    class Fails(Rule):
        id, name, severity, next_step = "HW999", "fails", "info", ""

        def judge(self, scene: Scene) -> Iterable[Verdict]:
            raise ValueError("no luck")

    engine = Engine((Fails(),))
    frame = derive(None, sample(0, Changes()))
    (cannot,) = engine.judge(frame).not_evaluated
    assert "no luck" in cannot.reason
