"""What a finding costs: worked out by its rule, read from the account, taken from a symptom, or not to be told."""

from __future__ import annotations

import inspect
import sys

import pytest

from gputop.rules.account.entries import ENTRIES
from gputop.rules.catalogue import RULES
from gputop.rules.finding import NO_PRICE, Finding
from gputop.rules.rule import Rule

from support.account_scenes import account
from support.rules_scenes import always, play
from support.scene_readings import GPUS
from support.tui_watch import played

_HOT = "hw thermal slowdown"


def _hot(hertz: float) -> dict[str, object]:
    return {"throttle_reasons": (_HOT,), "sm_clock_hertz": hertz, "temperature_celsius": 91.0}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_prices_its_findings_or_says_why_it_cannot(rule: type[Rule]) -> None:
    sources = {
        inspect.getsource(sys.modules[each.__module__])
        for each in rule.__mro__
        if issubclass(each, Rule) and each is not Rule
    }
    own = any("lost_ratio=" in source for source in sources)
    assert own or rule.costs or rule.unpriced, "give it lost_ratio, costs or unpriced"
    assert set(rule.costs) <= ENTRIES.keys()
    assert not rule.unpriced or len(rule.unpriced) >= 20


def test_a_throttled_gpu_costs_what_its_account_says() -> None:
    last = play(always(gpus={6: _hot(1404e6)}), 80).last
    found = next(each for each in last.active if each.id == "HW201")
    minute = account(last.accounts, "gpu", "6", "last minute")
    share = minute.entries["throttled"].seconds / minute.seconds
    assert found.price.basis == "account"
    assert found.price.origin == "inferred"
    assert found.lost_ratio == pytest.approx(share, abs=1e-3)
    assert found.lost_ratio == pytest.approx(0.96 * 0.2, abs=1e-3)
    seen = found.seen_seconds
    late = 10.0  # until there are accounts, and since they were worked out last
    assert found.lost_gpu_seconds == pytest.approx(0.96 * 0.2 * seen, abs=0.96 * 0.2 * late)


def test_what_costs_more_comes_first_within_its_severity() -> None:
    last = play(always(gpus={2: _hot(1580e6), 6: _hot(700e6)}), 80).last
    hot = [each for each in last.active if each.id == "HW201"]
    assert [each.subject.id for each in hot] == ["6", "2"]


def test_a_lost_gpu_costs_all_gpus_that_wait_for_it() -> None:
    active = {each.id: each for each in played("gpu-lost")[1].active}
    lost, cause = active["HW208"], active["HW206"]
    assert lost.price.basis == "account"
    assert lost.lost_ratio == pytest.approx(1.0, abs=0.05)
    assert lost.lost_gpu_seconds is not None
    assert lost.lost_gpu_seconds > (GPUS - 4) * lost.seen_seconds * 0.5
    assert (cause.price.basis, cause.lost_ratio) == ("symptom", lost.lost_ratio)


def test_a_cause_costs_its_dearest_symptom_and_not_their_sum() -> None:
    judged = played("thermal-throttle")[1]
    cause = next(each for each in judged.active if each.id == "HW201")
    symptoms = [each for each in judged.active if each.explained_by is not None]
    dearest = max(each.lost_ratio or 0.0 for each in symptoms)
    assert cause.lost_ratio == dearest
    assert cause.price.basis == "symptom"


def test_what_cannot_be_priced_says_why() -> None:
    finding = next(
        each
        for each in play(always(every_gpu={"remap_pending": True}), 30).last.findings
        if each.id == "HW205"
    )
    assert finding.lost_ratio is None
    assert finding.price.reason.startswith("no time is lost to it yet")


def test_no_price_costs_more_than_all_the_time() -> None:
    for scenario in ("gpu-lost", "input-bound", "straggler", "thermal-throttle", "rank-exited"):
        judged = played(scenario)[1]
        gpu_seconds = account(judged.accounts, "node", judged.frame.node).seconds
        for found in judged.findings:
            _within(found, gpu_seconds)


def _within(found: Finding, gpu_seconds: float) -> None:
    if found.lost_ratio is None:
        assert found.price.reason or found.price == NO_PRICE
        return
    assert 0 <= found.lost_ratio <= 1 + 1e-9
    assert found.lost_gpu_seconds is not None
    assert 0 <= found.lost_gpu_seconds <= gpu_seconds + 1e-6
