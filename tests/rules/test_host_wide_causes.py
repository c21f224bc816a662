"""A symptom of the whole host explains only what can depend on it, and stands below who is waited for."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.frame import Frame
from gputop.probes.model.job_frames import JobFrame, RankFrame
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.rules.finding import Evidence, Finding, Severity, Subject
from gputop.rules.rule import Rule

from support.rules_scenes import BEGAN, SPINNING, Changes, play
from support.rules_scenes import rank_pid as pid_of

RULES: dict[str, Rule] = {rule.id: rule for rule in make_rules()}


def finding(id: str, severity: Severity = "warning", **evidence: str) -> Finding:
    return Finding(
        id=id,
        name=id,
        severity=severity,
        subject=Subject(kind="rank", id="3", rank=3, job="a"),
        state="active",
        since_seconds=1.0,
        seen_seconds=60.0,
        evidence=tuple(Evidence(signal=signal, value=value) for signal, value in evidence.items()),
    )


def frame(ranks_elsewhere: int = 0) -> Frame:
    ranks = tuple(RankFrame(rank=rank, pid=rank, start_time_seconds=1.0) for rank in range(2))
    job = JobFrame(id="a", name="train.py", ranks=ranks, world_size=2 + ranks_elsewhere)
    return Frame(time_seconds=1.0, monotonic_seconds=1.0, node="n", jobs=(job,))


@pytest.mark.parametrize(
    ("evidence", "can"),
    [
        ({"wait_channel": "pipe_read"}, False),
        ({"wait_channel": "wait_for_partner"}, False),
        ({"wait_channel": "flock_lock_inode_wait"}, False),
        ({"wait_channel": "unix_stream_read_generic"}, False),
        ({"file": "reads /data/shard.tar", "mount": "/data (ext4, /dev/sda1)"}, False),
        ({}, False),
        ({"wait_channel": "inet_csk_accept"}, True),
        ({"wait_channel": "tcp_recvmsg"}, True),
        ({"wait_channel": "rpc_wait_bit_killable"}, True),
        ({"mount": "/data (nfs4, server:/export)"}, True),
    ],
)
def test_resent_segments_keep_up_only_who_waits_for_a_network(
    evidence: dict[str, Any], can: bool
) -> None:
    assert RULES["LNK513"].can_explain(finding("HST125", **evidence), frame()) is can


def test_resent_segments_are_no_reason_for_a_hang_within_one_node() -> None:
    spins = finding("HW211", "error")
    assert not RULES["LNK513"].can_explain(spins, frame())
    assert RULES["LNK513"].can_explain(spins, frame(ranks_elsewhere=6))


@pytest.mark.parametrize("cause", ["HST109", "HST110", "HST111"])
def test_no_load_of_a_host_brings_a_collective_about_that_somebody_never_joined(cause: str) -> None:
    assert not RULES[cause].can_explain(finding("HW211", "error"), frame())
    assert RULES[cause].can_explain(finding("HW211"), frame())
    assert RULES[cause].can_explain(finding("HW210"), frame())


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
