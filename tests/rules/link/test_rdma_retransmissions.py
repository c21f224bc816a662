"""RDMA packets that are sent again."""

from __future__ import annotations

import pytest

from support.rdma_scenes import Fields, counting, ports
from support.rules_scenes import evidence, play


def test_retransmissions() -> None:
    found = play(ports(counting(1, "packet_seq_err", 10)), 30).one("LNK510")
    assert (found.severity, evidence(found, "packet_seq_err").value) == ("warning", 20.0)


def test_time_outs_that_go_on_are_an_error() -> None:
    odd = counting(0.1, "local_ack_timeout_err")
    assert play(ports(odd), 200, interval=2.0).one("LNK510").severity == "error"


def test_out_of_sequence_alone_may_be_adaptive_routing() -> None:
    found = play(ports(counting(5, "out_of_sequence")), 30).one("LNK510")
    assert found.severity == "info"
    assert "adaptively" in found.next_step


@pytest.mark.parametrize(
    "odd",
    [counting(5, "rnr_nak_retry_err"), counting(0, "packet_seq_err"), counting(9, "np_cnp_sent")],
    ids=["receiver slow to post", "none", "marks"],
)
def test_no_retransmissions(odd: Fields) -> None:
    assert "LNK510" not in play(ports(odd), 60).ever()
