"""A process that stays in uninterruptible sleep."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

from gputop.probes.model.rank_readings import BlockedFile
from gputop.rules.causes import with_causes
from gputop.rules.finding import Finding, Subject
from gputop.rules.host.process_in_d_state import ProcessInDState

from support.rules_scenes import (
    Changes,
    Script,
    always,
    evidence,
    play,
)
from support.scene_readings import BEGAN, process, worker_pid

WORKER = worker_pid(3)
SOON = {"HST107": {"error_seconds": 40.0}}


def ids(findings: Iterable[Finding]) -> set[str]:
    return {finding.id for finding in findings}


def in_d(wait_channel: str | None = "rpc_wait_bit_killable", **more: Any) -> Script:
    return always(processes={WORKER: {"state": "D", "wait_channel": wait_channel, **more}})


def test_process_in_d_state() -> None:
    found = play(in_d(), 41).one("HST107")
    assert (found.subject.kind, found.subject.rank, found.severity) == ("process", 3, "warning")
    assert evidence(found, "wait_channel").value == "rpc_wait_bit_killable"
    assert evidence(found, "waits_for").value == "network file system"
    assert "file server" in found.next_step


def test_the_mount_on_which_it_waits_is_named() -> None:
    file = BlockedFile(
        call="reads",
        path="/data/shard-7.tar",
        mount_point="/data",
        file_system="nfs4",
        device="filer:/export",
    )
    found = play(in_d(blocked_on=file), 41).one("HST107")
    assert evidence(found, "file").value == "reads /data/shard-7.tar"
    assert evidence(found, "mount").value == "/data (nfs4, filer:/export)"
    assert found.next_step.startswith("It waits for /data (nfs4, filer:/export). Check the file")


def test_stuck_in_one_wait_for_minutes_is_an_error() -> None:
    found = play(in_d(voluntary_switches=10), 75, overrides=SOON).one("HST107")
    assert found.severity == "error"


def test_many_short_waits_for_minutes_are_none() -> None:
    assert play(in_d(), 75, overrides=SOON).one("HST107").severity == "warning"


def switching(per_second: float, in_d_at: Callable[[float], bool]) -> Script:
    """A worker that switches context so often, and is met in D at some looks."""

    def script(second: float) -> Changes:
        state = "D" if in_d_at(second) else "S"
        worker = {"state": state, "voluntary_switches": int(10 + per_second * second)}
        return Changes(processes={WORKER: worker})

    return script


def test_short_waits_are_not_suspected_before_many_looks_in_a_row_have_met_them() -> None:
    often = play(switching(80.0, lambda second: second % 3 != 0), 60)
    assert not any(each.id == "HST107" for judged in often.judgements for each in judged.findings)
    always_so = play(switching(80.0, lambda _: True), 41)
    assert always_so.active_from("HST107") == 39.0, "the fortieth look"


def test_fewer_looks_in_the_same_time_prove_less() -> None:
    slowly = play(switching(80.0, lambda _: True), 160, interval=4.0)
    assert slowly.active_from("HST107") == 39 * 4.0


def test_one_long_wait_is_suspected_at_once() -> None:
    played = play(switching(0.0, lambda second: second >= 3.0), 5)
    assert "HST107" in ids(played.judgements[3].pending)


def test_a_finding_outlasts_one_look_between_two_waits() -> None:
    played = play(switching(80.0, lambda second: second != 40.0), 75)
    assert all("HST107" in ids(judged.active) for judged in played.judgements[39:])


def test_a_blocked_worker_explains_that_its_rank_is_late() -> None:
    worker, late = (
        Subject(kind="process", id="2030@5.0", rank=3, job="job"),
        Subject(kind="rank", id="job 1003", rank=3, gpu=3, job="job"),
    )
    other = msgspec.structs.replace(late, id="job 1004", rank=4, gpu=4)
    active = [
        Finding(
            id=id_,
            name=id_,
            severity="warning",
            subject=subject,
            state="active",
            since_seconds=0.0,
            seen_seconds=40.0,
        )
        for id_, subject in (("HST107", worker), ("RUN407", late), ("RUN407", other))
    ]
    found = with_causes(active, {"HST107": ProcessInDState.explains}, {"HST107"})
    explained = {each.subject.rank: each.explained_by for each in found if each.id == "RUN407"}
    assert explained[3] is not None and explained[3].id == "HST107"
    assert explained[4] is None


def test_d_state_must_last() -> None:
    def script(second: float) -> Changes:
        return Changes(processes={WORKER: {"state": "D" if second % 20 else "S"}})

    assert "HST107" not in play(script, 62).ever()


@pytest.mark.parametrize(
    "change",
    [{"state": None}, {"state": "S"}, {"state": "D", "monotonic_seconds": -60.0}],
    ids=["unknown", "asleep", "stale"],
)
def test_not_in_d_state(change: dict[str, Any]) -> None:
    assert "HST107" not in play(always(processes={WORKER: change}), 35, interval=2.0).ever()


def test_a_process_of_nobody_is_not_judged() -> None:
    def script(second: float) -> Changes:
        return Changes(more_processes=[process(5, BEGAN + second, state="D", command=("cp",))])

    assert "HST107" not in play(script, 35).ever()
