"""Jobs whose ranks lie on several NVLink islands."""

from __future__ import annotations

import pytest

from gputop.probes.model.link_readings import TopologyReading

from support.nvlink_scenes import islands
from support.rules_scenes import (
    Script,
    always,
    evidence,
    play,
)
from support.scene_readings import BEGAN


def test_a_job_split_across_islands() -> None:
    found = play(islands(), 30).one("LNK505")
    assert (found.subject.kind, found.severity) == ("job", "warning")
    assert evidence(found, "nvlink_islands").value == "A: GPU 0, 1, 2, 3 | B: GPU 4, 5, 6, 7"
    assert evidence(found, "pcie_of_limit_ratio").value == pytest.approx(20e9 / 63.015e9, rel=0.01)
    assert found.next_step == (
        "Split the process groups so that ranks 0, 1, 2, 3 and ranks 4, 5, 6, 7 stay together."
    )


def test_a_split_job_that_does_not_cross_is_information() -> None:
    assert play(islands(pcie=0.5e9), 30).one("LNK505").severity == "info"


@pytest.mark.parametrize(
    "script",
    [
        islands(switch="00000000:05:00.0"),
        islands(second_job=True),
        always(topology=TopologyReading(monotonic_seconds=BEGAN)),
        islands(split=7),
    ],
    ids=["one island", "no job", "no NVLink", "one GPU alone"],
)
def test_no_split(script: Script) -> None:
    assert "LNK505" not in play(script, 40).ever()


def test_where_even_pcie_is_refused_the_evidence_says_so() -> None:
    def peers(one: int, two: int) -> tuple[str, str]:
        near = one // 4 == two // 4
        return ("ok", "ok") if near else ("chipset not supported", "not supported")

    found = play(islands(peers=peers), 30).one("LNK505")
    assert evidence(found, "peer_access").value == "chipset not supported"
