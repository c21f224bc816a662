"""Ranks that have ended: which came first, how, and whether that is a fault."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from gputop.probes.model.rank_readings import ExitReading

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import BEGAN, GPUS, log_line, probe, rank_pid
from support.stall_scenes import FROM, LOADING, SLEEPING, VICTIM, reported, stall


def test_of_those_noticed_together_the_killed_one_came_first() -> None:
    def script(second: float) -> Changes:
        if second < FROM:
            return Changes()
        ends: tuple[dict[str, Any], ...] = ({"code": 1}, {"signal": 9}, {"signal": 15})
        exits = [
            ExitReading(
                pid=rank_pid(rank),
                start_time_seconds=5001.0,
                monotonic_seconds=BEGAN + FROM + rank * 0.001,
                **how,
            )
            for rank, how in enumerate(ends)
        ]
        return Changes(without_job=True, exits=exits)

    assert reported(play(script, 10)) == {"RUN424": 1}


def fallen(*ends: tuple[float, dict[str, Any]], pages: Sequence[int] = ()) -> Script:
    """So many ranks end, so many seconds after the fault; of some a page is left."""

    def script(second: float) -> Changes:
        if second < FROM:
            return Changes()
        exits = [
            ExitReading(
                pid=rank_pid(rank),
                start_time_seconds=5001.0,
                monotonic_seconds=BEGAN + FROM + after,
                **how,
            )
            for rank, (after, how) in enumerate(ends)
        ]
        left = [
            msgspec.structs.replace(
                probe(rank, second, "backward", 1.0),
                ended_monotonic_seconds=BEGAN + FROM,
                rank=rank,
            )
            for rank in pages
        ]
        return Changes(without_job=True, exits=exits, probes=left)

    return script


ENDED_BY_LAUNCHER = {"signal": 15}
DONE = {"code": 0}


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        # The launcher's SIGTERM is no cause, whoever was noticed first within a moment.
        ([(0.0, ENDED_BY_LAUNCHER), (0.5, {"signal": 9})], {"RUN424": 1}),
        ([(0.0, ENDED_BY_LAUNCHER), (0.5, {"signal": 11})], {"RUN424": 1}),
        ([(0.0, ENDED_BY_LAUNCHER), (0.5, {"code": 1})], {"RUN424": 1}),
        # Where nothing else ended, somebody has ended the job.
        ([(0.0, ENDED_BY_LAUNCHER), (0.5, ENDED_BY_LAUNCHER)], {"RUN424": 0}),
        # It was first by far: the others were killed since they did not heed the launcher.
        ([(0.0, ENDED_BY_LAUNCHER), (30.0, {"signal": 9})], {"RUN424": 0}),
        # A rank that is done is not the fault of one that crashes, nor hides it.
        ([(0.0, DONE), (0.5, {"code": 1})], {"RUN424": 1}),
        ([(0.0, DONE), (9.0, {"signal": 6})], {"RUN424": 1}),
        ([(0.0, DONE), (0.5, ENDED_BY_LAUNCHER)], {}),
        ([(0.0, DONE), (0.5, DONE)], {}),
    ],
)
def test_which_of_several_ends_is_the_fault(
    ends: list[tuple[float, dict[str, Any]]], expected: dict[str, int]
) -> None:
    assert reported(play(fallen(*ends), 45)) == expected


def test_of_a_job_that_died_as_a_whole_an_unseen_end_is_reported_by_its_page() -> None:
    unseen = fallen((0.0, ENDED_BY_LAUNCHER), (0.5, {}), pages=(0, 1))
    played = play(unseen, 20)
    assert reported(played) == {"RUN424": 1}
    assert evidence(played.one("RUN424"), "ended_by").value == (
        "nobody saw how; it has left its page"
    )
    assert reported(play(fallen((0.0, {}), (0.5, {})), 20)) == {}, "they may have been done"


@pytest.mark.parametrize("late", [1.0, 5.0])
def test_a_rank_of_a_stuck_job_that_is_killed_is_reported_however_late_its_end_is_seen(
    late: float,
) -> None:
    """The job stands still first; then it is gone at once, and how is known when it is in no frame."""
    stuck = stall(SLEEPING, LOADING)

    def script(second: float) -> Changes:
        if second < 25.0:
            return stuck(second)
        gone = ExitReading(
            pid=rank_pid(VICTIM),
            start_time_seconds=5001.0,
            monotonic_seconds=BEGAN + 25.0,
            signal=9,
        )
        exits = (gone,) if second >= 25.0 + late else ()
        return Changes(without_job=True, exits=exits)

    played = play(script, 40)
    assert "RUN406" in played.ever()
    assert played.one("RUN424").subject.rank == VICTIM


def ended(**how: Any) -> Callable[[float], Changes]:
    def script(second: float) -> Changes:
        if second < FROM:
            return Changes()
        gone = ExitReading(
            pid=rank_pid(VICTIM),
            start_time_seconds=5001.0,
            monotonic_seconds=BEGAN + FROM,
            **how,
        )
        later = ExitReading(
            pid=rank_pid(0),
            start_time_seconds=5001.0,
            monotonic_seconds=BEGAN + FROM + 1,
            signal=15,
        )
        return Changes(without_job=True, exits=(later, gone))

    return script


def test_the_first_rank_that_ended_is_named_with_the_reason() -> None:
    played = play(ended(signal=9, killed_by="the kernel's OOM killer"), 20)
    assert reported(played) == {"RUN424": VICTIM}
    finding = played.one("RUN424")
    assert evidence(finding, "ended_by").value == "signal 9 (SIGKILL)"
    assert evidence(finding, "killed_by").value == "the kernel's OOM killer"
    assert evidence(finding, "ended_after_it").value == 1


def test_a_job_that_is_done_is_no_fault() -> None:
    assert "RUN424" not in play(ended(code=0), 20).ever()


def left_behind(age: float = 200.0, *, others_live: bool = True) -> Callable[[float], Changes]:
    """Rank 3 is gone, long ago where nothing else is said, and only its probe's page tells of it."""

    def script(second: float) -> Changes:
        page = msgspec.structs.replace(
            probe(VICTIM, second, "backward", age + 1),
            ended_monotonic_seconds=BEGAN - age,
            rank=VICTIM,
            world_size=GPUS,
            job_name="train.py",
        )
        return Changes(probes=(page,), without=(VICTIM,), without_job=not others_live)

    return script


def test_a_rank_that_died_before_anybody_looked_is_named() -> None:
    played = play(left_behind(), 3)
    assert reported(played) == {"RUN424": VICTIM}
    assert evidence(played.one("RUN424"), "ended_by").value == (
        "nobody saw how; it has left its page"
    )
    assert reported(play(left_behind(4900.0), 3)) == {"RUN424": VICTIM}, "the others still wait"


def test_what_is_left_of_a_job_that_is_over_is_no_finding() -> None:
    assert reported(play(left_behind(others_live=False), 3)) == {}


@pytest.mark.parametrize(("again", "severity"), [(True, "info"), (False, "error")])
def test_what_a_launcher_has_started_again_is_information(again: bool, severity: str) -> None:
    def script(second: float) -> Changes:
        first = {rank_pid(VICTIM): {"start_time_seconds": 5000.5}}
        if second < FROM:
            return Changes(processes=first)
        gone = ExitReading(
            pid=rank_pid(VICTIM),
            start_time_seconds=5000.5,
            monotonic_seconds=BEGAN + FROM,
            code=3,
        )
        return Changes(exits=(gone,), without=() if again else (VICTIM,))

    finding = play(script, 10).one("RUN424")
    assert (finding.subject.rank, finding.severity) == (VICTIM, severity)


@pytest.mark.parametrize("again", [True, False])
def test_a_rank_that_was_started_again_is_not_missed(again: bool) -> None:
    def script(second: float) -> Changes:
        page = msgspec.structs.replace(
            probe(VICTIM, second, "backward", 1.0), start_time_seconds=4000.0, rank=VICTIM
        )
        if second < FROM:
            first = {rank_pid(VICTIM): {"start_time_seconds": 4000.0}}
            return Changes(probes=(page,), processes=first)
        dead = msgspec.structs.replace(page, ended_monotonic_seconds=BEGAN + FROM)
        return Changes(probes=(dead,), without=() if again else (VICTIM,))

    assert reported(play(script, 10)) == ({} if again else {"RUN424": VICTIM})


KILLED = "Memory cgroup out of memory: Killed process 1003 (python) total-vm:9kB, anon-rss:7kB"


def with_log(script: Script, second: float, pid: int | None) -> Script:
    def logged(now: float) -> Changes:
        line = log_line(second, "oom kill", pid=pid, command_name="python", text=KILLED)
        return dataclasses.replace(script(now), kernel_log=(line,) if now >= second else ())

    return logged


def test_the_kernel_log_says_who_killed_it() -> None:
    played = play(with_log(ended(signal=9), FROM, rank_pid(VICTIM)), 20)
    found = played.one("RUN424")
    assert found.subject.rank == VICTIM
    assert evidence(found, "killed_by").value == "the kernel's OOM killer"
    assert evidence(found, "kernel_log").value == KILLED
    assert "memory limit" in found.next_step
    (told,) = played.all("MEM310")
    assert told.explained_by is not None and told.explained_by.id == "RUN424"


def test_of_one_that_died_before_anybody_looked_too() -> None:
    found = play(with_log(left_behind(), -200.0, rank_pid(VICTIM)), 3).one("RUN424")
    assert evidence(found, "killed_by").value == "the kernel's OOM killer"


@pytest.mark.parametrize(
    ("how", "second", "pid"),
    [
        ({"signal": 9}, FROM, 77),
        ({"signal": 9}, FROM, None),
        ({"signal": 9}, FROM - 200.0, rank_pid(VICTIM)),
        ({"signal": 11}, FROM, rank_pid(VICTIM)),
        ({"code": 1}, FROM, rank_pid(VICTIM)),
    ],
    ids=["another process", "a pid of another namespace", "long before", "it crashed", "it failed"],
)
def test_nobody_is_said_to_have_killed_it_where_the_log_does_not(
    how: dict[str, Any], second: float, pid: int | None
) -> None:
    found = play(with_log(ended(**how), second, pid), 20).one("RUN424")
    assert not {"killed_by", "kernel_log"} & {each.signal for each in found.evidence}


@pytest.mark.parametrize(("signal", "joined"), [(9, [1.0]), (11, [])])
def test_kills_for_want_of_memory_stand_beside_one_that_was_killed_outright(
    signal: int, joined: list[float]
) -> None:
    script = ended(signal=signal)

    def short(second: float) -> Changes:
        changes = script(second)
        changes.cgroup = {"oom_kills": 3 + (second >= FROM)}
        return changes

    finding = play(short, 20).one("RUN424")
    kills = [each.value for each in finding.evidence if each.signal == "oom_kills_since_start"]
    assert kills == joined
