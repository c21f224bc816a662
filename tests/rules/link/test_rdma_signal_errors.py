"""RDMA ports whose signal is damaged."""

from __future__ import annotations

import pytest

from support.rdma_scenes import counting, from_second, ports
from support.rules_scenes import evidence, play


def test_signal_errors() -> None:
    played = play(ports(counting(0.2, "symbol_error", 10)), 40)
    found = played.one("LNK508")
    assert (found.subject.id, found.severity) == ("mlx5_0/1", "warning")
    assert evidence(found, "symbol_error").value == 6.0


@pytest.mark.unmeasured
def test_signal_errors_that_go_on() -> None:
    found = play(ports(counting(0.2, "symbol_error")), 400, interval=2.0).one("LNK508")
    assert found.severity == "error"


def test_signal_errors_of_long_ago() -> None:
    played = play(ports(counting(1, "symbol_error", 0, 5)), 200, interval=2.0)
    assert "LNK508" in played.ever()
    assert "LNK508" not in played.ids()


def test_a_counter_that_has_stood_there_since_before_is_no_finding() -> None:
    assert play(ports(from_second(0, counters={"symbol_error": 65535})), 60).ever() == set()
