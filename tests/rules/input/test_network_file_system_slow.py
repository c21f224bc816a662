"""NFS whose answers take long while the job waits for its data, and slow mounts that nobody waits for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gputop.probes.model.sample import SourceStatus

from support.input_scenes import waits_for_data
from support.mount_scenes import mount, reads_from_nfs
from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)

WAITS = waits_for_data(0.3, cores=0.1, blocked=0.6)


def without_probes(script: Script) -> Script:
    return lambda second: replace(script(second), probes=())


def test_a_slow_mount_is_the_cause_of_the_waiting() -> None:
    played = play(reads_from_nfs(WAITS, await_seconds=0.04), 75)
    found = played.one("INP706")
    assert (found.subject.kind, found.severity) == ("job", "warning")
    assert evidence(found, "mount").value == "/data (nfs4, filer:/export)"
    assert evidence(found, "await_seconds").value == pytest.approx(0.04)
    assert evidence(found, "queue_await_seconds").value == pytest.approx(0.004)
    assert evidence(found, "operations_per_second").value == pytest.approx(40.0)
    assert found.price.lost_ratio == pytest.approx(0.3, abs=0.02)
    assert "nfsiostat 1 /data" in found.next_step
    (storage,) = played.all("INP704")
    assert storage.explained_by is not None and storage.explained_by.id == "INP706"
    assert played.last.active[0].id == "INP706"


def test_requests_that_wait_to_be_sent_ask_for_more_connections() -> None:
    slow = reads_from_nfs(WAITS, await_seconds=0.04, queue_ratio=0.8)
    assert "nconnect" in play(slow, 75).one("INP706").next_step


def test_requests_that_are_sent_again_are_enough() -> None:
    lossy = reads_from_nfs(WAITS, await_seconds=0.008, again_ratio=0.03)
    found = play(lossy, 75).one("INP706")
    assert evidence(found, "retransmission_ratio").value == pytest.approx(0.03, abs=0.002)


def test_without_a_probe_whoever_reads_must_be_blocked() -> None:
    slow = reads_from_nfs(without_probes(WAITS), await_seconds=0.04)
    found = play(slow, 75).one("INP706")
    assert evidence(found, "blocked_ratio").value == pytest.approx(0.6, abs=0.05)
    assert found.price.lost_ratio is None and "not known" in found.price.reason
    awake = reads_from_nfs(without_probes(waits_for_data(0.3, blocked=0.1)), await_seconds=0.04)
    assert "INP706" not in play(awake, 75).ever()


def test_a_mount_at_which_a_worker_is_blocked_is_its_own() -> None:
    from gputop.probes.model.rank_readings import BlockedFile

    at = BlockedFile(call="reads", path="/data/1.tar", mount_point="/data", file_system="nfs4")
    blocked = waits_for_data(0.3, blocked=0.9, worker={"blocked_on": at})
    slow = reads_from_nfs(blocked, await_seconds=0.04, users=None, missing={"users": "denied"})
    assert "INP706" in play(slow, 75).ever()


@pytest.mark.parametrize(
    "fares",
    [
        {"await_seconds": 0.012},
        {"await_seconds": 0.04, "per_second": 2.0},
        {"await_seconds": 0.04, "users": ()},
        {"await_seconds": 0.04, "users": (4711,)},
        {"await_seconds": 0.008, "again_ratio": 0.002},
    ],
    ids=["fast", "hardly used", "nobody's", "another job's", "few lost"],
)
def test_near_misses(fares: dict[str, Any]) -> None:
    assert "INP706" not in play(reads_from_nfs(WAITS, **fares), 75).ever()


def test_a_slow_mount_that_nobody_waits_for() -> None:
    hidden = waits_for_data(0.3, utilization=0.97, blocked=0.6)
    assert "INP706" not in play(reads_from_nfs(hidden, await_seconds=0.04), 75).ever()


def test_a_mount_that_was_made_anew_is_judged_by_its_new_counters() -> None:
    def mounted_anew(second: float) -> Changes:
        slow = mount(second, await_seconds=0.04)
        fresh = second >= 40
        again = replace(WAITS(second), mounts=[slow])
        if fresh:
            again.mounts = [mount(second, await_seconds=0.001, per_second=5.0)]
        return again

    played = play(mounted_anew, 100)
    assert "INP706" not in played.ids()


@pytest.mark.parametrize("status", ["denied", "failed"])
def test_what_cannot_be_seen_is_said(status: Any) -> None:
    def hidden(second: float) -> Changes:
        source = SourceStatus(name="mounts", status=status, reason="only the user may")
        return replace(WAITS(second), sources=[source])

    played = play(hidden, 45)
    assert "INP706" not in played.ever()
    reasons = {each.id: each.reason for each in played.last.not_evaluated}
    assert "only the user may" in reasons["INP706"]
