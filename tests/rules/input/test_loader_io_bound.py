"""Workers that wait for storage while the job waits for them, with the mount where it is seen."""

from __future__ import annotations

import pytest

from gputop.probes.model.rank_readings import BlockedFile

from support.input_scenes import waits_for_data
from support.rules_scenes import evidence, play

NFS = BlockedFile(
    call="reads",
    path="/data/train/00017.tar",
    mount_point="/data",
    file_system="nfs4",
    device="filer:/export",
)


def test_workers_in_state_d_are_the_cause() -> None:
    waits = {"wait_channel": "rpc_wait_bit_killable"}
    played = play(waits_for_data(0.3, cores=0.1, blocked=0.6, worker=waits), 63)
    found = played.one("INP704")
    assert evidence(found, "worker_blocked_ratio").value == pytest.approx(0.6, abs=0.05)
    assert evidence(found, "waits_for").value == "network file system"
    assert "nfsiostat" in found.next_step
    bound = played.one("INP701")
    assert bound.explained_by is not None and bound.explained_by.id == "INP704"


def test_the_mount_is_named_where_it_is_seen() -> None:
    waits = {"wait_channel": "rpc_wait_bit_killable", "blocked_on": NFS}
    found = play(waits_for_data(0.3, cores=0.1, blocked=0.6, worker=waits), 63).one("INP704")
    assert "/data (nfs4, filer:/export)" in found.next_step


def test_near_misses() -> None:
    assert "INP704" not in play(waits_for_data(0.3, blocked=0.1), 60).ever()
    assert "INP704" not in play(waits_for_data(0.05, blocked=0.6), 60).ever()
