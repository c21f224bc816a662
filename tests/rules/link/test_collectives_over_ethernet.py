"""Collectives that pass the RDMA ports by."""

from __future__ import annotations

import pytest

from gputop.probes.model.host_readings import NetworkReading

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import BEGAN, on_many_nodes, port


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
    assert evidence(found, "nccl_ib_disable").value == "1"
    assert "NCCL_IB_DISABLE" in found.next_step


@pytest.mark.parametrize(
    "script",
    [over_ethernet(2e9, 1e6), over_ethernet(5e7, 5e7), over_ethernet(2e9, 2e9, rdma=1e9)],
    ids=["reads data", "little", "RDMA too"],
)
def test_ethernet_may_carry_other_things(script: Script) -> None:
    assert "LNK512" not in play(script, 60).ever()
