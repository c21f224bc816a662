"""Processes that come and go for half an hour leave nothing behind; `tests/bench/soak.py` does it for a day."""

from __future__ import annotations

import pytest

from gputop.probes.feeds.tapped import TappedFeed
from gputop.probes.recording.ring import MOST_BYTES
from gputop.rules.catalogue import make_rules
from gputop.rules.columns import MOST_GONE, MOST_VALUES
from gputop.rules.engine import MOST_CLEARED, Engine
from gputop.tui.reports.metrics.totals import Totals
from gputop.tui.session.judged import MOST_BYTES as MOST_JUDGED_BYTES
from gputop.tui.session.keeper import Keeper
from gputop.tui.session.watch import Watch

from support.churn import ChurnFeed


@pytest.mark.unmeasured
def test_half_an_hour_of_churn_is_bounded() -> None:
    feed = ChurnFeed(1800.0, 10.0, 1.0)
    engine, keeper, totals = Engine(make_rules()), Keeper(), Totals()
    watch = Watch(TappedFeed(feed, keeper.sample), engine, (), keeper.judgement)
    half, whole = (0, 0), (0, 0)
    for number, judgement in enumerate(watch.judgements()):
        totals.add(judgement)
        there = len(judgement.frame.processes) + len(judgement.frame.cgroups) + 80
        assert engine.history.subjects <= there + MOST_GONE
        assert engine.history.values <= MOST_VALUES
        assert len([each for each in judgement.findings if each.state == "cleared"]) <= MOST_CLEARED
        whole = engine.history.values, len(judgement.findings)
        if number == 90:
            half = whole
    assert feed.visits > 1700
    assert engine.broken == {}
    assert keeper.bytes <= MOST_BYTES + MOST_JUDGED_BYTES
    assert whole[0] < 1.5 * half[0]
    assert whole[1] < 1.5 * half[1]
