"""Ranks that have come to the end of their program while the others wait for them."""

from __future__ import annotations

from dataclasses import replace

from gputop.probes.model.rank_readings import ExitReading

from support.rules_scenes import Changes, evidence, play
from support.scene_readings import BEGAN, rank_pid
from support.stall_scenes import BACKWARD, FROM, VICTIM, everybody, frames, reported

IN_EXIT = frames("threading.py:_shutdown:1560")
JOINS = frames("threading.py:join:1119", "train.py:main:130")
LOCK = {"wait_channel": "futex_do_wait"}


def test_who_sits_in_the_interpreters_exit_has_finished() -> None:
    finding = play(everybody(LOCK, IN_EXIT), 25).one("RUN426")
    assert finding.subject.rank == VICTIM
    assert "exit of its interpreter" in str(evidence(finding, "has_finished").value)
    assert f"gputop stacks {rank_pid(VICTIM)}" in finding.next_step


def test_who_joins_a_thread_in_its_program_has_not() -> None:
    assert reported(play(everybody(LOCK, JOINS), 25)) == {"RUN406": VICTIM}


def ended(code: int | None, others: float | None = FROM) -> dict[str, int | None]:
    base = everybody({}, BACKWARD, since=others)

    def script(second: float) -> Changes:
        changes = base(second)
        if second < FROM:
            return changes
        gone = ExitReading(
            pid=rank_pid(VICTIM),
            start_time_seconds=5001.0,
            monotonic_seconds=BEGAN + FROM,
            code=code,
        )
        there = [each for each in changes.threads if each.pid != rank_pid(VICTIM)]
        return replace(changes, exits=(gone,), without=(VICTIM,), threads=there)

    return reported(play(script, 25))


def test_who_has_ended_well_and_is_waited_for_is_named() -> None:
    assert ended(0) == {"RUN426": VICTIM}


def test_who_failed_is_no_such_case_and_nobody_waits_for_who_is_done() -> None:
    assert ended(1) == {"RUN424": VICTIM}
    assert ended(0, others=None) == {}
