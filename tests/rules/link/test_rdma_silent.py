"""RDMA ports that carry nothing while a job of many nodes communicates."""

from __future__ import annotations

from typing import Any

import pytest

from support.rdma_scenes import from_second, ports
from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import on_many_nodes, port, probe


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
    assert evidence(found, "local_ranks").value == "8 of 32"


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
