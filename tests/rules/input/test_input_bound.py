"""A job that waits for its data, and what that costs; not where the GPU's work hides it, nor where it is known."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.derive.cache import DeriveCache
from gputop.probes.derive.frame import derive
from gputop.probes.simulator import Scenario, SimulatedNode
from gputop.probes.simulator.rhythm import Pace, everyone
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine

from support.input_scenes import waits_for_data
from support.replays import replay
from support.rules_scenes import always, evidence, play
from support.simulated_corpus import watched
from support.unmeasured import unmeasured


def test_a_third_of_each_step_is_waiting_for_data() -> None:
    played = play(waits_for_data(0.3), 60)
    found = played.one("INP701")
    assert (found.severity, found.subject.kind) == ("warning", "job")
    assert evidence(found, "data_wait_ratio").value == pytest.approx(0.3, abs=0.01)
    assert evidence(found, "gpu_idle_ratio").value == pytest.approx(0.3, abs=0.01)
    assert played.active_from("INP701") is not None
    assert found.lost_ratio == pytest.approx(0.3, abs=0.01)


def test_its_price_is_what_all_gpus_lose_while_it_is_seen() -> None:
    played = play(waits_for_data(0.3), 120)
    found = played.one("INP701")
    held = [
        each.frame.monotonic_seconds
        for each in played.judgements
        if any(finding.id == "INP701" for finding in each.findings)
    ]
    # By hand: each GPU loses three tenths of every second since it was first seen.
    assert found.lost_gpu_seconds == pytest.approx(0.3 * 8 * (held[-1] - held[0]), rel=0.02)


def test_a_wait_that_is_partly_hidden_costs_what_the_gpu_idles() -> None:
    assert play(waits_for_data(0.4, utilization=0.85), 60).one(
        "INP701"
    ).lost_ratio == pytest.approx(0.15, abs=0.01)


@pytest.mark.parametrize(
    "near",
    [
        {"share": 0.08},
        {"share": 0.4, "utilization": 0.96},
        {"share": 0.4, "ranks": frozenset({3})},
    ],
    ids=["little", "hidden behind the GPU's work", "one rank: a straggler"],
)
def test_near_misses(near: dict[str, Any]) -> None:
    assert "INP701" not in play(waits_for_data(**near), 60).ever()


def test_a_stalled_job_waits_for_nothing_that_a_faster_loader_gives() -> None:
    base = waits_for_data(0.4)

    def stalls(second: float) -> Any:
        return base(min(second, 40.0)) if second < 40 else _frozen(base, second)

    assert "INP701" not in play(stalls, 120).ids()


def _frozen(base: Any, second: float) -> Any:
    import msgspec

    changes, last = base(second), base(40.0)
    changes.probes = [
        msgspec.structs.replace(old, monotonic_seconds=new.monotonic_seconds, phase="data")
        for old, new in zip(last.probes, changes.probes, strict=True)
    ]
    return changes


def test_without_a_probe_it_could_not_look() -> None:
    gaps = {each.id: each.reason for each in play(always(), 3).last.not_evaluated}
    assert "no probe" in gaps["INP701"]


def test_the_demo_names_the_cause_and_folds_the_low_utilization() -> None:
    first, *rest = replay("input-bound").last.active
    assert (first.id, first.severity) == ("INP704", "warning")
    assert {each.id for each in rest} == {"INP701", "HW210"}
    assert all(each.explained_by for each in rest)
    assert first.lost_ratio == pytest.approx(0.36, abs=0.03)


@pytest.mark.unmeasured
def test_one_wait_between_two_epochs_is_none() -> None:
    outcome = watched("epochs", look_seconds=2.0)
    assert not outcome.alarms and not outcome.comings


@pytest.mark.unmeasured
def test_four_waits_that_are_alike_are_no_single_one() -> None:
    """Steps of 16 s hold few waits in half a minute: each is waited for, so the loader is slow."""
    slow = Scenario(
        name="slow",
        summary="",
        finds=("INP701",),
        onset_seconds=-100.0,
        stages=(everyone(-100.0, Pace(data=5.0, forward=3.0, backward=5.0)),),
    )
    node = SimulatedNode(slow, start_time_seconds=1.79e9)
    engine, cache, frame = Engine(make_rules()), DeriveCache(), None
    with unmeasured():
        for second in range(-120, 1, 2):
            frame = derive(frame, node.sample_at(float(second), 2.0), cache)
            last = engine.judge(frame)
    assert "INP701" in {each.id for each in last.active}
