"""RDMA ports that are slower than their siblings, than before, or than their chip."""

from __future__ import annotations

from typing import Any

import pytest

from support.rdma_scenes import from_second, ports
from support.rules_scenes import Changes, evidence, play
from support.scene_readings import port


def test_rate_below_siblings() -> None:
    odd = from_second(0, rate_bytes_per_second=12.5e9, lanes=1)
    found = play(ports(odd), 12).one("LNK507")
    assert (found.subject.id, found.severity) == ("mlx5_0/1", "warning")
    assert evidence(found, "trained_as").value == "1X NDR"
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
