"""RDMA ports that are down, gone, or come and go."""

from __future__ import annotations

from typing import Any

from support.rdma_scenes import from_second, ports
from support.rules_scenes import Changes, evidence, play
from support.scene_readings import LOW, port


def healthy(_: float) -> dict[str, Any]:
    return {}


def test_ports_in_good_health() -> None:
    assert play(ports(healthy), 60).ever() == set()


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
    assert (found.severity, evidence(found, "state_changes").value) == ("warning", 3.0)
    assert "comes and goes" in found.next_step


def test_port_that_went_once_and_is_back() -> None:
    def odd(second: float) -> dict[str, Any]:
        return {"state": "down"} if 10 <= second < 12 else {}

    assert "LNK506" not in play(ports(odd), 60).ids()


def test_a_port_that_is_down_explains_why_gpus_wait() -> None:
    odd = from_second(0.5, state="down")
    played = play(ports(odd, every_gpu=LOW), 45)
    low = played.all("HW210")
    assert low
    assert {each.explained_by and each.explained_by.id for each in low} == {"LNK506"}


def test_a_port_of_which_nothing_new_is_known() -> None:
    def script(second: float) -> Changes:
        old = port(min(second, 10.0), state="down" if second >= 12 else "active")
        return Changes(ports=[old])

    assert play(script, 30).ever() == set()
