"""RDMA ports that wait for credits, or whose packets are marked."""

from __future__ import annotations

from typing import Any

import pytest

from support.rdma_scenes import Fields, from_second, ports
from support.rules_scenes import evidence, play, with_probes


def slow(share: float) -> Fields:
    """On a port of 100 Gbit/s the ticks of half a minute fit into 32 bits."""
    return lambda second: {
        "rate_bytes_per_second": 12.5e9,
        "model": "MT4119",
        "wait_ticks": int(share * 12.5e9 / 8 * second),
    }


@pytest.mark.parametrize(("share", "severity"), [(0.05, None), (0.12, "warning"), (0.06, None)])
def test_congestion_on_infiniband(share: float, severity: str | None) -> None:
    found = play(ports(slow(share), count=1), 20).all("LNK509")
    assert [each.severity for each in found] == ([severity] if severity else [])


def test_heavy_congestion_is_an_error() -> None:
    found = play(ports(slow(0.4), count=1), 19, interval=0.5).one("LNK509")
    assert found.severity == "error"
    assert evidence(found, "wait_ratio").origin == "inferred"


def test_a_full_counter_of_waiting_is_no_finding() -> None:
    assert "LNK509" not in play(ports(from_second(0, wait_ticks=2**32 - 1)), 60).ever()


FULL = 2**32 - 1


def filling(share: float, begin: float = 2.0, until: float = 1e9, reset: float = 1e9) -> Fields:
    """A port of 400 Gbit/s: its 32 bits are full after 0.7 s of waiting in all."""

    def fields(second: float) -> dict[str, Any]:
        if second >= reset:
            return {"wait_ticks": 0}
        waited = share * max(0.0, min(second, until) - begin)
        return {"wait_ticks": min(FULL, int(waited * 50e9 / 8))}

    return fields


@pytest.mark.parametrize("share", [0.12, 0.34, 0.9])
def test_congestion_is_found_although_the_counter_fills_within_seconds(share: float) -> None:
    played = play(ports(filling(share), count=1), 40)
    found = played.one("LNK509")
    assert evidence(found, "counter_full_seconds").value == pytest.approx(38 - 0.69 / share, abs=1)
    waited = evidence(found, "wait_ratio").value
    assert isinstance(waited, float)
    assert 0.10 <= waited <= 1.01 * share, "the least that it can have been"
    assert found.severity == "warning", "nobody knows whether it goes on"
    assert "perfquery -R" in found.next_step
    assert (played.active_from("LNK509") or 99) <= 2 + 0.69 / share + 1 + 15


@pytest.mark.parametrize("interval", [0.2, 1.0, 2.0])
@pytest.mark.unmeasured
def test_a_counter_that_fills_at_once_tells_the_least_that_it_can_be(interval: float) -> None:
    found = play(ports(filling(1.0), count=1), 30, interval=interval).one("LNK509")
    share = evidence(found, "wait_ratio").value
    assert isinstance(share, float)
    assert 0.1 <= share <= 1.0


def test_a_little_waiting_that_fills_the_counter_is_no_congestion() -> None:
    assert "LNK509" not in play(ports(filling(0.05), count=1), 60).ever()


@pytest.mark.unmeasured
def test_what_cannot_be_seen_to_go_on_is_forgotten() -> None:
    played = play(ports(filling(0.6), count=1), 420, interval=2.0)
    assert "LNK509" in played.ever()
    assert "LNK509" not in played.ids()


def test_a_counter_that_is_set_to_nought_is_judged_anew() -> None:
    played = play(ports(filling(0.6, reset=40.0), count=1), 90)
    assert "LNK509" in played.ever()
    assert "LNK509" not in played.ids()


def test_a_counter_full_since_before_leaves_the_rule_not_evaluated() -> None:
    last = play(with_probes(ports(from_second(0, wait_ticks=FULL), count=1)), 20).last
    assert {each.id: each.reason for each in last.not_evaluated} == {
        "LNK509": "its 32-bit counter is full"
    }


def test_one_port_of_several_that_can_be_judged_is_enough() -> None:
    assert play(with_probes(ports(from_second(0, wait_ticks=FULL))), 20).last.not_evaluated == ()


def marked(share: float) -> Fields:
    return lambda second: {
        "link_layer": "ethernet",
        "counters": {"np_ecn_marked_roce_packets": int(share * 6e6 * second)},
    }


def test_congestion_on_roce() -> None:
    found = play(ports(marked(0.05)), 30).one("LNK509")
    assert evidence(found, "marked_packets_ratio").value == pytest.approx(0.05, rel=0.01)


def test_a_few_marks_are_how_roce_works() -> None:
    assert "LNK509" not in play(ports(marked(0.002)), 60).ever()
