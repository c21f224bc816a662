"""TCP segments that have to be sent again."""

from __future__ import annotations

import pytest

from support.rules_scenes import (
    Changes,
    Script,
    always,
    evidence,
    play,
)
from support.scene_readings import BEGAN


def losing(share: float, sent: float = 20_000.0, begin: float = 0.0) -> Script:
    """Of ``sent`` segments a second, that share of all is sent a second time from ``begin`` on."""

    def script(second: float) -> Changes:
        again = sent * share / (1.0 - share) * max(0.0, second - begin)
        return Changes(
            host={
                "tcp_sent_segments": int(sent * (BEGAN + second)),
                "tcp_retransmitted_segments": 10_000 + int(again),
            }
        )

    return script


def test_retransmissions() -> None:
    played = play(losing(0.03), 30)
    found = played.one("LNK513")
    assert (found.subject.kind, found.severity) == ("host", "warning")
    assert evidence(found, "retransmitted_ratio").value == pytest.approx(0.03, rel=0.01)
    assert evidence(found, "segments_per_second").value == pytest.approx(20_000, rel=0.01)
    assert played.active_from("LNK513") == 11, "held for ten seconds from the second reading on"


def test_it_clears_when_the_losses_are_over() -> None:
    def script(second: float) -> Changes:
        until = min(second, 30.0)
        again = losing(0.03)(until).host or {}
        now = losing(0.0)(second).host or {}
        return Changes(
            host={**now, "tcp_retransmitted_segments": again["tcp_retransmitted_segments"]}
        )

    played = play(script, 90)
    assert "LNK513" in played.ever()
    assert "LNK513" not in played.ids()


@pytest.mark.parametrize(
    "script",
    [
        losing(0.008),
        losing(0.5, sent=90.0),
        losing(0.0),
        always(host={"tcp_sent_segments": 5, "tcp_retransmitted_segments": None}),
        always(host={"tcp_sent_segments": None, "tcp_retransmitted_segments": None}),
        always(host=None),
    ],
    ids=["just below", "hardly any segments", "none", "half unknown", "unknown", "no host"],
)
@pytest.mark.unmeasured
def test_no_retransmissions_worth_a_word(script: Script) -> None:
    assert "LNK513" not in play(script, 60).ever()


def test_counters_that_begin_anew_tell_nothing() -> None:
    def script(second: float) -> Changes:
        return losing(0.03)(second) if second < 5 else losing(0.03)(second - BEGAN + 100)

    assert "LNK513" not in play(script, 25).ever()
