"""A rank that waits for a file or a pipe while the others wait for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gputop.probes.model.rank_readings import BlockedFile, Stack

from support.rules_scenes import Changes, evidence, play
from support.scene_readings import rank_pid
from support.stall_scenes import LOADING, VICTIM, assert_one_finding_with_the_right_rank, stall


@pytest.mark.parametrize(
    ("victim", "stack"),
    [
        ({"wait_channel": "anon_pipe_read"}, LOADING),
        ({"wait_channel": "anon_pipe_read"}, None),
        ({"state": "D", "wait_channel": "rpc_wait_bit_killable"}, None),
    ],
)
def test_one_finding_with_the_right_rank(victim: Mapping[str, Any], stack: Stack | None) -> None:
    assert_one_finding_with_the_right_rank(victim, stack, "HST125")


def test_the_file_that_a_rank_waits_for_is_named() -> None:
    def script(second: float) -> Changes:
        file = BlockedFile(call="opens", path="/run/fifo", mount_point="/run", file_system="tmpfs")
        changes = stall({"wait_channel": "wait_for_partner"}, LOADING)(second)
        return replace(changes, processes={rank_pid(VICTIM): {"blocked_on": file}})

    finding = play(script, 25).one("HST125")
    assert evidence(finding, "file").value == "opens /run/fifo"
    assert "it opens /run/fifo on /run (tmpfs" in finding.next_step


def test_a_child_that_is_dead_is_told_beside_the_pipe() -> None:
    dead = stall({"wait_channel": "anon_pipe_read"}, LOADING, workers={"state": "Z"})
    finding = play(dead, 25).one("HST125")
    assert "is a zombie" in str(evidence(finding, "dead_child").value)
    alive = play(stall({"wait_channel": "anon_pipe_read"}, LOADING), 25).one("HST125")
    assert all(each.signal != "dead_child" for each in alive.evidence)
