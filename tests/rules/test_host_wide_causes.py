"""A symptom of the whole host explains only what can depend on it, and stands below who is waited for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gputop.probes.model.rank_readings import BlockedFile
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.rules.rule import Rule

from support.rules_scenes import Changes, Script, play
from support.scene_readings import BEGAN, SPINNING
from support.scene_readings import rank_pid as pid_of
from support.stall_scenes import VICTIM, frames, stall
from support.wait_scenes import waits_for

OWN = frames("train.py:next_batch:88", "train.py:main:111")
RULES: dict[str, Rule] = {rule.id: rule for rule in make_rules()}


def blocked(second: float, wait: Mapping[str, Any]) -> Changes:
    """TCP loses segments, and a rank of many for which the others wait stands still."""
    changes = stall(wait, OWN)(second)
    changes.host = losing_segments(second).host
    changes.every_gpu = {}
    return changes


def explained_by_losses(script: Script, rule: str) -> list[bool]:
    played = play(script, 60, interval=2.0)
    assert {rule, "LNK513"} <= played.ids()
    return [
        each.explained_by is not None and each.explained_by.id == "LNK513"
        for each in played.all(rule)
    ]


@pytest.mark.parametrize(
    ("channel", "can"),
    [
        ("pipe_read", False),
        ("wait_for_partner", False),
        ("wait_woken", False),
        ("tcp_recvmsg", True),
        ("rpc_wait_bit_killable", True),
    ],
)
def test_resent_segments_keep_up_only_who_waits_for_a_network(channel: str, can: bool) -> None:
    def script(second: float) -> Changes:
        return blocked(second, {"wait_channel": channel})

    assert explained_by_losses(script, "HST125") == [can]


@pytest.mark.parametrize(("peer", "can"), [("10.0.0.3:2049", True), ("127.0.0.1:2049", False)])
def test_where_the_far_end_is_known_it_tells_whether_a_network_lies_between(
    peer: str, can: bool
) -> None:
    def script(second: float) -> Changes:
        changes = blocked(second, {"wait_channel": "wait_woken"})
        changes.waits = [waits_for(VICTIM, second, "socket", peer)]
        return changes

    assert explained_by_losses(script, "HST125") == [can]


def test_a_network_file_system_is_one_whatever_the_kernel_calls_the_wait() -> None:
    def script(second: float) -> Changes:
        changes = blocked(second, {"wait_channel": "folio_wait_bit", "state": "D"})
        file = BlockedFile(call="reads", path="/d/x", mount_point="/d", file_system="nfs4")
        changes.processes = {pid_of(VICTIM): {"blocked_on": file, "state": "D"}}
        return changes

    assert explained_by_losses(script, "HST125") == [True]


@pytest.mark.parametrize("cause", ["HST109", "HST110", "HST111"])
def test_no_load_of_a_host_brings_a_collective_about_that_somebody_never_joined(cause: str) -> None:
    limit = RULES[cause].explains_waits_in
    assert "collective" not in limit
    assert {"work", "socket", "file"} <= limit


def test_throttling_by_the_quota_is_the_cause_of_too_few_cores() -> None:
    assert "HST111" in RULES["HST110"].explains
    assert "HST110" not in RULES["HST111"].explains


def losing_segments(second: float) -> Changes:
    """TCP loses segments, and the GPUs of a job on one node spin."""
    moment = BEGAN + second
    host = {
        "tcp_sent_segments": int(20_000 * moment),
        "tcp_retransmitted_segments": int(2_000 * moment),
    }
    return Changes(every_gpu=SPINNING, host=host)


def test_the_engine_asks_the_rule() -> None:
    played = play(losing_segments, 60, interval=2.0)
    assert "LNK513" in played.ids()
    spinning = [each for each in played.all("HW211") if each.severity == "error"]
    assert spinning
    assert all(each.explained_by is None or each.explained_by.id != "LNK513" for each in spinning)


def stopped_beside_losses(second: float) -> Changes:
    """One process of the job is stopped in state D, while TCP loses segments: both are warnings."""
    changes = losing_segments(second)
    return Changes(
        host=changes.host,
        processes={pid_of(3): {"state": "D", "wait_channel": "pipe_read"}},
    )


def test_who_is_waited_for_stands_above_what_is_about_the_whole_host() -> None:
    played = play(stopped_beside_losses, 60, interval=2.0, engine=Engine(make_rules()))
    order = [(each.severity, each.subject.kind) for each in played.last.active]
    assert "host" in [kind for _, kind in order]
    for severity in ("error", "warning"):
        kinds = [kind == "host" for each, kind in order if each == severity]
        assert kinds == sorted(kinds), order
