"""What a demonstration is about is the first line of its screen, not one among others."""

from __future__ import annotations

import pytest

from gputop.probes.simulator import SCENARIOS

from support.replays import replay

ABOUT_ONE = (
    "ecc-storm",
    "fabric-degraded",
    "imex-down",
    "slow-settings",
    "no-tensor-cores",
    "mps-shared",
    "outlier-steps",
    "load-imbalance",
    "pipeline-bubble",
)
"""Scenarios of one fault that nothing else hides."""


@pytest.mark.parametrize("name", ABOUT_ONE)
@pytest.mark.unmeasured
def test_the_fault_comes_first(name: str) -> None:
    found = replay(name).last.active
    assert [found[0].id] == [*SCENARIOS[name].finds][:1], [each.id for each in found]
    assert found[0].price.reason or found[0].price.lost_ratio is not None
