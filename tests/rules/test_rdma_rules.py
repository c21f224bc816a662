"""RDMA ports: down, slow, damaged, congested, losing packets, silent, or passed by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gputop.probes.model.host_readings import NetworkReading

from support.rules_scenes import (
    BEGAN,
    IDLE,
    Changes,
    Script,
    evidence,
    on_many_nodes,
    play,
    port,
    probe,
    with_probes,
)

Fields = Callable[[float], dict[str, Any]]


def ports(odd: Fields, count: int = 4, **changes: Any) -> Script:
    """Port 0 is odd, the others are in good health."""

    def script(second: float) -> Changes:
        others = [port(second, number) for number in range(1, count)]
        return Changes(ports=[port(second, 0, **odd(second)), *others], **changes)

    return script


def from_second(begin: float, **fields: Any) -> Fields:
    return lambda second: fields if second >= begin else {}


def counting(per_second: float, name: str, begin: float = 0.0, end: float = 1e9) -> Fields:
    return lambda second: {"counters": {name: int(per_second * max(0.0, min(second, end) - begin))}}


def healthy(_: float) -> dict[str, Any]:
    return {}


def test_ports_in_good_health() -> None:
    assert play(ports(healthy), 60).ever() == set()


# --- down ---


def test_port_down() -> None:
    odd = from_second(10, state="down", physical_state="polling")
    played = play(ports(odd), 20)
    found = played.one("LNK506")
    assert (found.subject.kind, found.subject.id, found.severity) == ("link", "mlx5_0/1", "error")
    assert found.subject.job is not None
    assert evidence(found, "physical_state").value == "polling"
    assert played.active_from("LNK506") == 10


def test_port_that_no_subnet_manager_makes_active() -> None:
    found = play(ports(from_second(5, state="init")), 10).one("LNK506")
    assert "subnet manager" in found.next_step


def test_port_that_is_gone_with_its_device() -> None:
    def script(second: float) -> Changes:
        first = 1 if second >= 10 else 0
        return Changes(ports=[port(second, number) for number in range(first, 4)])

    found = play(script, 15).one("LNK506")
    assert evidence(found, "state").value == "gone"
    assert "kernel log" in found.next_step


def test_port_down_since_before_we_came() -> None:
    odd = from_second(0, state="down", rx_bytes=10**12)
    assert play(ports(odd), 5).one("LNK506").severity == "warning"


def test_port_that_was_never_used_is_nobodys_loss() -> None:
    odd = from_second(0, state="down", physical_state="polling", rx_bytes=0, tx_bytes=0)
    assert play(ports(odd), 60).ever() == set()


def test_port_that_flaps() -> None:
    def odd(second: float) -> dict[str, Any]:
        return {"state": "down"} if second < 40 and second % 10 < 2 and second > 5 else {}

    played = play(ports(odd), 100)
    found = played.one("LNK506")
    assert (found.severity, evidence(found, "changes of state").value) == ("warning", 3.0)
    assert "comes and goes" in found.next_step


def test_port_that_went_once_and_is_back() -> None:
    def odd(second: float) -> dict[str, Any]:
        return {"state": "down"} if 10 <= second < 12 else {}

    assert "LNK506" not in play(ports(odd), 60).ids()


def test_a_port_that_is_down_explains_why_gpus_wait() -> None:
    odd = from_second(0.5, state="down")
    played = play(ports(odd, every_gpu=IDLE), 45)
    low = played.all("HW210")
    assert low
    assert {each.explained_by and each.explained_by.id for each in low} == {"LNK506"}


def test_a_port_of_which_nothing_new_is_known() -> None:
    def script(second: float) -> Changes:
        old = port(min(second, 10.0), state="down" if second >= 12 else "active")
        return Changes(ports=[old])

    assert play(script, 30).ever() == set()


# --- rate ---


def test_rate_below_siblings() -> None:
    odd = from_second(0, rate_bytes_per_second=12.5e9, lanes=1)
    found = play(ports(odd), 12).one("LNK507")
    assert (found.subject.id, found.severity) == ("mlx5_0/1", "warning")
    assert evidence(found, "trained as").value == "1X NDR"
    assert evidence(found, "rate_bytes_per_second").threshold == 50e9


def test_rate_below_what_it_was() -> None:
    odd = from_second(10, rate_bytes_per_second=25e9, speed="HDR")
    assert play(ports(odd, count=1), 25).one("LNK507").severity == "warning"


def test_all_ports_below_what_the_chip_can_do() -> None:
    def script(second: float) -> Changes:
        return Changes(
            ports=[port(second, number, rate_bytes_per_second=25e9) for number in range(4)]
        )

    found = play(script, 12).all("LNK507")
    assert [each.severity for each in found] == ["info"] * 4


@pytest.mark.parametrize(
    "fields",
    [
        {"rate_bytes_per_second": 25e9, "model": "MT4123"},
        {"rate_bytes_per_second": 25e9, "virtual_function": True},
        {"rate_bytes_per_second": None},
        {"rate_bytes_per_second": 25e9, "model": None},
        {"rate_bytes_per_second": 49e9},
    ],
    ids=["another model", "virtual function", "unknown", "unknown model", "rounding"],
)
def test_rates_that_are_no_finding(fields: dict[str, Any]) -> None:
    assert "LNK507" not in play(ports(from_second(0, **fields)), 30).ever()


# --- signal ---


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


# --- congestion ---


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
    assert evidence(found, "its counter is full for").value == pytest.approx(
        38 - 0.69 / share, abs=1
    )
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
    assert evidence(found, "marked packets").value == pytest.approx(0.05, rel=0.01)


def test_a_few_marks_are_how_roce_works() -> None:
    assert "LNK509" not in play(ports(marked(0.002)), 60).ever()


# --- retransmissions ---


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


# --- the job's traffic ---


def silent(
    phase: str = "comm", age: float = 5.0, processes: Any = None, carried: float = 0.0
) -> Script:
    def script(second: float) -> Changes:
        total = 10**12 + int(carried * second)
        still = {"rx_bytes": total, "tx_bytes": total}
        return Changes(
            ports=[port(second, number, **still) for number in range(4)],
            processes=on_many_nodes() if processes is None else processes,
            probes=[probe(index, second, phase, age) for index in range(8)],
        )

    return script


SOON = {"LNK511": {"seconds": 60.0}}


def test_no_rdma_traffic() -> None:
    found = play(silent(), 80, overrides=SOON).one("LNK511")
    assert (found.subject.kind, found.severity) == ("job", "warning")
    assert evidence(found, "ranks here").value == "8 of 32"


@pytest.mark.parametrize(
    "script",
    [
        silent(processes={}),
        silent(carried=5e6),
        silent(phase="checkpoint"),
        ports(from_second(0, state="down", rx_bytes=0, tx_bytes=0), count=1),
    ],
    ids=["one node", "a little", "checkpoint", "no port"],
)
def test_rdma_may_be_silent(script: Script) -> None:
    assert "LNK511" not in play(script, 80, overrides=SOON).ever()


def test_it_is_not_silent_before_it_was_seen_for_long() -> None:
    assert "LNK511" not in play(silent(), 40, overrides=SOON).ever()


def over_ethernet(
    rx: float, tx: float, rdma: float = 0.0, environment: dict[str, str] | None = None
) -> Script:
    def script(second: float) -> Changes:
        network = NetworkReading(
            name="eth0",
            rx_bytes=int(rx * (BEGAN + second)),
            tx_bytes=int(tx * (BEGAN + second)),
        )
        moved = 10**12 + int(rdma * second)
        return Changes(
            host={"networks": (network,)},
            ports=[port(second, rx_bytes=moved, tx_bytes=moved)],
            processes=on_many_nodes(32, **(environment or {})),
        )

    return script


def test_collectives_over_ethernet() -> None:
    found = play(over_ethernet(2e9, 2e9, environment={"NCCL_IB_DISABLE": "1"}), 40).one("LNK512")
    assert evidence(found, "NCCL_IB_DISABLE").value == "1"
    assert "NCCL_IB_DISABLE" in found.next_step


@pytest.mark.parametrize(
    "script",
    [over_ethernet(2e9, 1e6), over_ethernet(5e7, 5e7), over_ethernet(2e9, 2e9, rdma=1e9)],
    ids=["reads data", "little", "RDMA too"],
)
def test_ethernet_may_carry_other_things(script: Script) -> None:
    assert "LNK512" not in play(script, 60).ever()
