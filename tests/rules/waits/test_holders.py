"""Whoever holds what a rank waits for is followed: who works is an alibi, who stands still is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from gputop.probes.model.wait_readings import WaitReading

from support.rules_scenes import (
    Changes,
    Played,
    Script,
    evidence,
    play,
)
from support.scene_readings import JOB_GROUP, rank_pid
from support.stall_scenes import BARRIER, FROM, RULES, VICTIM, everybody, frames, reported
from support.wait_scenes import child_of, holder, waits_for

FILE_LOCK = {"wait_channel": "locks_lock_inode_wait"}
PIPE = {"wait_channel": "anon_pipe_read"}
UNIX = {"wait_channel": "unix_stream_read_generic"}
SOCKET = {"wait_channel": "wait_woken"}
LOCK = {"wait_channel": "futex_do_wait"}
OWN = frames("train.py:next_batch:88", "train.py:main:111")
CHILD = 3000
MINUTE = FROM + 62

Look = Callable[[float], WaitReading]


def looked(script: Script, *looks: Look) -> Script:
    """The same, with what was looked up of the waits."""

    def with_looks(second: float) -> Changes:
        changes = script(second)
        changes.waits = [look(second) for look in looks] if second >= FROM + 3 else []
        return changes

    return with_looks


def waiting(victim: Mapping[str, Any], *looks: Look) -> Script:
    """One rank of many waits so; the others wait for it."""
    return looked(everybody(victim, OWN), *looks)


def alone(victim: Mapping[str, Any], *looks: Look) -> Script:
    return looked(everybody(victim, OWN, ranks=1, victims=frozenset({0})), *looks)


def with_child(script: Script, rank: int, **fields: Any) -> Script:
    """Its rank has this child from the beginning."""

    def more(second: float) -> Changes:
        changes = script(second)
        told = {key: value(second) if callable(value) else value for key, value in fields.items()}
        return replace(changes, more_processes=[child_of(rank, second, CHILD, **told)])

    return more


def lock_of(*holders: Any, **fields: Any) -> Look:
    return lambda second: waits_for(VICTIM, second, "file lock", "/data/x.lock", *holders, **fields)


def held_by(played: Played, rule: str) -> str:
    return str(evidence(played.one(rule), "held_by").value)


def test_a_lock_held_by_whoever_stands_still_names_him() -> None:
    played = play(waiting(FILE_LOCK, lock_of(holder(77, command="python cache.py"))), 30)
    assert reported(played) == {"RUN406": VICTIM}
    assert held_by(played, "RUN406") == (
        "pid 77 (python cache.py), which sleeps, for 30 s without a move"
    )


def test_a_lock_held_by_whoever_works_is_waiting_and_no_fault() -> None:
    works = holder(77, state="R", wait_channel=None, still_seconds=0.0)
    played = play(waiting(FILE_LOCK, lock_of(works)), 60)
    assert reported(played) == {"RUN427": VICTIM}
    assert played.one("RUN427").severity == "info"
    assert held_by(played, "RUN427") == "pid 77 (python), which runs"


def test_a_holder_that_is_ready_to_run_and_gets_no_core_does_not_stand_still() -> None:
    starved = holder(77, state="R", wait_channel=None, still_seconds=30.0)
    assert reported(play(waiting(FILE_LOCK, lock_of(starved)), 60)) == {"RUN427": VICTIM}


def test_a_lock_whose_holder_was_seen_once_says_nothing_of_how_he_moves() -> None:
    played = play(waiting(FILE_LOCK, lock_of(holder(77, still_seconds=None))), 30)
    assert reported(played) == {"RUN406": VICTIM}


@pytest.mark.parametrize(
    ("all_seen", "words"),
    [
        (True, "nobody: the lock is stale, or was let go of just now"),
        (False, "not seen: not every process could be looked at"),
    ],
)
def test_nobody_is_said_only_where_everybody_was_seen(all_seen: bool, words: str) -> None:
    played = play(waiting(FILE_LOCK, lock_of(all_seen=all_seen)), 30)
    assert held_by(played, "RUN406") == words


def test_a_lock_held_by_a_rank_that_works_makes_that_one_the_cause() -> None:
    lock = lock_of(holder(rank_pid(0), state="R", wait_channel=None, still_seconds=0.0))
    script = waiting(FILE_LOCK, lock)

    def rank_0_works(second: float) -> Changes:
        changes = script(second)
        busy = msgspec.structs.replace(
            changes.threads[0].main, state="R", cpu_seconds=100.0 + second, wait_channel=None
        )
        first = msgspec.structs.replace(changes.threads[0], main=busy)
        changes.threads = [first, *changes.threads[1:]]
        changes.stacks = [
            msgspec.structs.replace(each, main_stacks=(OWN,) * 3)
            if each.pid == rank_pid(0)
            else each
            for each in changes.stacks
        ]
        return changes

    assert VICTIM not in set(reported(play(rank_0_works, 20)).values())


def test_a_lock_held_by_a_rank_that_waits_for_this_one_is_a_cycle() -> None:
    played = play(waiting(FILE_LOCK, lock_of(holder(rank_pid(0)))), 30)
    assert reported(played) == {"RUN406": VICTIM}
    words = str(evidence(played.one("RUN406"), "wait_for_each_other").value)
    assert f"rank {VICTIM} waits for /data/x.lock" in words
    assert "rank 0 waits for the others" in words


def test_two_ranks_that_wait_for_each_others_locks_are_one_cycle() -> None:
    def look(rank: int, other: int) -> Look:
        return lambda second: waits_for(
            rank, second, "file lock", f"/data/{rank}.lock", holder(rank_pid(other))
        )

    script = everybody(FILE_LOCK, OWN, victims=frozenset({2, 3}))
    played = play(looked(script, look(2, 3), look(3, 2)), 30)
    assert reported(played) == {"RUN406": 2}
    words = str(evidence(played.one("RUN406"), "wait_for_each_other").value)
    assert "rank 2 waits for /data/2.lock" in words
    assert "rank 3 waits for /data/3.lock" in words


def pipe_of(rank: int, *holders: Any, **fields: Any) -> Look:
    return lambda second: waits_for(rank, second, "pipe", "pipe:[9]", *holders, **fields)


WRITES = holder(CHILD, "writes")


def test_a_child_that_has_the_other_end_and_stands_still_is_told_of_its_rank() -> None:
    script = with_child(alone(PIPE, pipe_of(0, WRITES)), 0)
    played = play(script, MINUTE)
    assert reported(played) == {"HST125": 0}
    words = str(evidence(played.one("HST125"), "other_end").value)
    assert words.startswith(f"its child {CHILD} (python), which sleeps")


def test_a_child_that_works_is_an_alibi() -> None:
    script = with_child(
        alone(PIPE, pipe_of(0, WRITES)), 0, state="R", cpu_seconds=lambda second: second
    )
    assert reported(play(script, MINUTE)) == {}


def test_of_two_that_could_write_the_one_that_works_is_enough() -> None:
    other = holder(78, "writes", state="R", wait_channel=None, still_seconds=0.0)
    script = with_child(alone(PIPE, pipe_of(0, WRITES, other)), 0)
    assert reported(play(script, MINUTE)) == {}


def dead(**fields: Any) -> dict[str, Any]:
    return {"state": "Z", "command": None, "cpu_seconds": 3.0, **fields}


def child_words(played: Played, rule: str) -> list[str]:
    return [str(each.value) for each in played.one(rule).evidence if each.signal == "dead_child"]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"exit_signal": 9}, "was killed by SIGKILL (9)"),
        ({"exit_code": 1}, "has exited with code 1"),
        ({}, "has exited and is a zombie: nobody has asked how"),
    ],
)
def test_a_dead_child_is_named_with_how_it_ended(how: Mapping[str, Any], words: str) -> None:
    script = with_child(alone(PIPE, pipe_of(0, own=True)), 0, **dead(**how))
    played = play(script, MINUTE)
    assert reported(played) == {"HST125": 0}
    assert child_words(played, "HST125") == [f"its child {CHILD} (python) {words}"]


def test_a_child_that_ended_well_is_no_reason() -> None:
    script = with_child(alone(PIPE, pipe_of(0, own=True)), 0, **dead(exit_code=0))
    assert child_words(play(script, MINUTE), "HST125") == []


@pytest.mark.parametrize(("signal", "joined"), [(9, True), (11, False)])
def test_kills_for_want_of_memory_are_joined_to_the_child_that_was_killed(
    signal: int, joined: bool
) -> None:
    script = with_child(alone(PIPE), 0, cgroup=JOB_GROUP, **dead(exit_signal=signal))

    def killed(second: float) -> Changes:
        return replace(script(second), cgroup={"oom_kills": 3 + (second >= FROM)})

    (words,) = child_words(play(killed, MINUTE), "HST125")
    assert words.endswith("control group since this watch began: 1") is joined


def test_a_unix_socket_of_a_killed_child_is_told_and_that_of_a_living_one_is_not() -> None:
    assert reported(play(with_child(alone(UNIX), 0), MINUTE)) == {}
    killed = with_child(alone(UNIX), 0, **dead(exit_signal=9))
    assert set(reported(play(killed, MINUTE))) & RULES == {"HST125"}


def test_a_stopped_child_that_is_waited_for_is_told_soon() -> None:
    def far_end(state: str) -> Look:
        child = holder(CHILD, "peer", state=state)
        return lambda second: waits_for(0, second, "unix socket", "socket:[7]", child)

    def played(state: str) -> dict[str, int | None]:
        return reported(play(with_child(alone(UNIX, far_end(state)), 0, state=state), FROM + 20))

    assert played("T") == {"RUN423": 0}
    assert played("S") == {}


def test_a_child_that_was_stopped_is_what_a_lock_waits_for_also_where_nobody_sees_who_holds_it() -> (
    None
):
    stopped = play(with_child(alone(LOCK), 0, state="T"), FROM + 20).one("RUN423")
    assert (stopped.name, stopped.subject.rank) == ("child stopped", 0)
    assert f"kill -CONT {CHILD}" in stopped.next_step
    assert reported(play(with_child(alone(LOCK), 0, state="S"), FROM + 20)) == {}
    short = play(with_child(alone(LOCK), 0, state="T"), FROM + 6)
    assert reported(short) == {}, "a wait of every step may be as long"


def test_whoever_writes_or_connects_to_a_process_of_this_node_waits_for_no_work() -> None:
    def calls(call: str) -> Look:
        there = holder(CHILD, "peer", state="S")
        return lambda second: waits_for(0, second, "unix socket", "socket:[7]", there, call=call)

    def played(call: str) -> dict[str, int | None]:
        return reported(play(with_child(alone(UNIX, calls(call)), 0), MINUTE))

    assert set(played("connects to")) == set(played("sends to")) == {"HST125"}
    assert played("receives from") == {}


def test_the_far_end_of_a_socket_is_named_and_for_how_long_nothing_came() -> None:
    script = waiting(SOCKET, lambda at: waits_for(VICTIM, at, "socket", "10.0.0.3:2049"))
    finding = play(script, FROM + 30).one("HST125")
    words = str(evidence(finding, "connected_to").value)
    assert words.startswith("10.0.0.3:2049, nothing came for ")
    assert not [each for each in finding.evidence if each.signal == "other_end"], "not on this node"


def test_what_was_looked_up_before_the_standstill_is_no_witness() -> None:
    script = everybody(PIPE, OWN)

    def stale(second: float) -> Changes:
        changes = script(second)
        changes.waits = [pipe_of(VICTIM, WRITES)(FROM - 2)]
        return changes

    finding = play(stale, 30).one("HST125")
    assert not [each for each in finding.evidence if each.signal == "other_end"]


def test_a_mutex_names_the_thread_that_owns_it_and_a_cycle_both() -> None:
    def mutex(back: bool) -> Look:
        owner = holder(
            rank_pid(VICTIM), "owns", tid=5555, wait_channel="futex_do_wait", waits_back=back
        )
        return lambda second: waits_for(VICTIM, second, "mutex", "0x7f00", owner, all_seen=True)

    plain = play(waiting(LOCK, mutex(False)), 30)
    assert reported(plain) == {"RUN406": VICTIM}
    words = str(evidence(plain.one("RUN406"), "owned_by").value)
    assert words.startswith("its thread 5555 (python), which waits for a lock")
    cycle = play(waiting(LOCK, mutex(True)), 30)
    assert reported(cycle) == {"RUN406": VICTIM}
    assert "thread 5555 waits for" in str(
        evidence(cycle.one("RUN406"), "wait_for_each_other").value
    )


def test_while_it_builds_others_in_a_barrier_wait_for_the_holder_and_nothing_is_wrong() -> None:
    """Rank 3 wants the lock that a build outside of the job holds; the others are in a barrier."""
    works = holder(77, state="R", wait_channel=None, still_seconds=0.0, command="ninja")
    script = looked(everybody(FILE_LOCK, OWN, others=BARRIER), lock_of(works))
    played = play(script, 60)
    assert {(each.id, each.severity) for each in played.last.active if each.id in RULES} == {
        ("RUN427", "info")
    }
