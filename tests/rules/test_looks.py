"""Rules that judge slow things look now and then; when somebody comes or goes all look anew."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from gputop.rules.catalogue import RULES
from gputop.rules.engine import Engine
from gputop.rules.finding import Subject, Verdict
from gputop.rules.rule import Rule, Scene

from support.rules_scenes import Changes, frames, healthy


class Slow(Rule):
    """It says how often it was asked."""

    id = "HST199"
    name = "slow"
    severity = "info"
    hold_seconds = 0.0
    look_seconds = 5.0
    next_step = "Nothing."

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        self.asked.append(scene.frame.monotonic_seconds)
        yield Verdict(subject=Subject(kind="host", id="x"), holds=True)


def test_it_looks_every_so_often_and_its_finding_stands_meanwhile() -> None:
    rule = Slow()
    engine = Engine([rule])
    judged = [engine.judge(frame) for frame in frames(healthy, range(11))]
    assert len(rule.asked) == 3
    assert all(len(each.active) == 1 for each in judged)
    assert judged[-1].active[0].seen_seconds == 10.0


def test_when_a_rank_goes_it_looks_at_once() -> None:
    rule = Slow()
    engine = Engine([rule])

    def script(second: float) -> Changes:
        return Changes(without=(3,) if second >= 2 else ())

    for frame in frames(script, range(4)):
        engine.judge(frame)
    assert [at - rule.asked[0] for at in rule.asked] == [0.0, 2.0]


def test_after_a_step_back_in_time_it_looks_anew() -> None:
    rule = Slow()
    engine = Engine([rule])
    seen = list(frames(healthy, range(3)))
    for frame in (*seen, seen[0]):
        engine.judge(frame)
    assert len(rule.asked) == 2


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.id))
def test_none_rests_for_longer_than_it_may_take_to_tell(rule: type[Rule]) -> None:
    """Within a tenth of ten minutes; and what has no window at all is looked at in each frame."""
    assert rule.look_seconds <= 30.0
    assert rule.look_seconds <= 10.0 or not rule.hold_seconds
