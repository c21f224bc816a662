"""PCIe packets that are sent again."""

from __future__ import annotations

from typing import Any

import pytest

from support.rules_scenes import (
    Changes,
    Script,
    always,
    evidence,
    play,
)


def replaying(per_second: float, **more: Any) -> Script:
    return lambda second: Changes(gpus={3: {"pcie_replays": int(per_second * second), **more}})


def test_pcie_replays() -> None:
    found = play(replaying(1.0), 60).one("LNK502")
    assert (found.subject.id, found.subject.gpu, found.severity) == ("gpu3 pcie", 3, "warning")
    # 0.15 a minute and lane for 2.5 GT/s, here 32 GT/s and 16 lanes.
    assert evidence(found, "pcie_replays_per_minute").threshold == pytest.approx(30.72)
    assert evidence(found, "pcie_replays_per_minute").value == pytest.approx(60.0, rel=0.05)


def test_the_limit_is_that_of_the_link_as_trained() -> None:
    assert "LNK502" in play(replaying(0.1, pcie_generation=1), 60).ids()
    assert "LNK502" not in play(replaying(0.1), 60).ever()


@pytest.mark.parametrize(
    "script",
    [
        replaying(0.4),
        always(gpus={3: {"pcie_replays": 10**6}}),
        lambda second: Changes(gpus={3: {"pcie_replays": None if second > 1 else 5}}),
        always(gpus={3: {"pcie_replays": 5, "pcie_width": None}}),
    ],
    ids=["few", "old", "not reported", "width not reported"],
)
@pytest.mark.unmeasured
def test_no_pcie_replays(script: Script) -> None:
    assert "LNK502" not in play(script, 90).ever()
