"""A process alone that runs in a loop without an effect is told without a probe, and what works is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from gputop.probes.model.rank_readings import BusyLoop
from gputop.rules.closer_look import worth_a_look

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import rank_pid
from support.stall_scenes import FROM, LOOPING, VICTIM, everybody, frames, reported

OWN = frames("train.py:wait_for_it:88", "train.py:main:111")
LOOP = BusyLoop(text="while not done.is_set()", line=87)
MINUTE = FROM + 62
NEVER_PAUSES: Mapping[str, Any] = {"runs": True, "wait_channel": None, "voluntary_switches": 0}


def running(
    victim: Mapping[str, Any] = LOOPING, loop: BusyLoop | None = LOOP, since: float = FROM
) -> Script:
    """One alone that runs from a second on, in that loop by its source."""
    script = everybody(victim, OWN, ranks=1, victims=frozenset({0}), since=since)

    def looked(second: float) -> Changes:
        changes = script(second)
        changes.stacks = [msgspec.structs.replace(each, busy_loop=loop) for each in changes.stacks]
        return changes

    return looked


def test_a_loop_without_an_effect_is_told_of_a_process_alone() -> None:
    played = play(running(), MINUTE)
    assert reported(played) == {"RUN406": 0}
    finding = played.one("RUN406")
    words = "while not done.is_set() (line 87) in wait_for_it (train.py:88)"
    assert evidence(finding, "runs_in_loop").value == words
    assert finding.severity == "warning"


def test_it_is_told_once_it_has_run_so_for_long() -> None:
    began = play(running(), MINUTE).active_from("RUN406")
    assert began is not None
    assert FROM + 45 <= began <= FROM + 56


def test_also_where_others_take_its_core() -> None:
    """It gets a tenth of a core, and is met ready to run each time."""
    script = running()

    def starved(second: float) -> Changes:
        changes = script(second)
        if second >= FROM:
            (reading,) = changes.threads
            main = msgspec.structs.replace(reading.main, cpu_seconds=3.0 + 0.1 * (second - FROM))
            changes.threads = [msgspec.structs.replace(reading, main=main)]
        return changes

    assert reported(play(starved, MINUTE)) == {"RUN406": 0}


def test_who_runs_in_no_such_loop_may_compute() -> None:
    assert reported(play(running(loop=None), MINUTE)) == {}


@pytest.mark.parametrize(
    "working",
    [{"read_bytes": 1e6}, {"cpu_seconds": 2.0}],
    ids=["bytes move", "another thread works"],
)
def test_a_loop_that_looks_whether_others_are_done_is_none(working: Mapping[str, float]) -> None:
    """What grows by so much in each second."""
    script = running()

    def helped(second: float) -> Changes:
        changes = script(second)
        more = {name: 5000 + growth * second for name, growth in working.items()}
        changes.processes = {
            **changes.processes,
            rank_pid(0): {**changes.processes[rank_pid(0)], **more},
        }
        return changes

    assert reported(play(helped, MINUTE)) == {}


def test_who_was_never_seen_to_do_anything_else_may_compute() -> None:
    assert reported(play(running(NEVER_PAUSES, since=0.0), MINUTE)) == {}


def test_a_loop_seen_before_it_last_waited_is_no_witness() -> None:
    """It waits for something twice a minute, and its stack was taken before."""
    script = running()

    def waits(second: float) -> Changes:
        changes = script(second)
        if FROM + 30 <= second < FROM + 31:
            (reading,) = changes.threads
            main = msgspec.structs.replace(reading.main, state="S", wait_channel="futex_do_wait")
            changes.threads = [msgspec.structs.replace(reading, main=main)]
        changes.stacks = [
            msgspec.structs.replace(each, monotonic_seconds=each.monotonic_seconds - 40)
            for each in changes.stacks
        ]
        return changes

    assert reported(play(waits, MINUTE)) == {}


@pytest.mark.parametrize(
    ("script", "seconds", "looked_at"),
    [
        (running(), 10.0, False),
        (running(), 22.0, True),
        (running(NEVER_PAUSES, since=0.0), 22.0, False),
    ],
    ids=["not yet", "runs for long", "never did anything else"],
)
def test_stacks_are_taken_of_who_does_not_pause_any_more(
    script: Script, seconds: float, looked_at: bool
) -> None:
    def without_stacks(second: float) -> Changes:
        changes = script(second)
        changes.stacks = []
        return changes

    judged = play(without_stacks, FROM + seconds).last
    assert (rank_pid(0) in worth_a_look(judged)) is looked_at


FILE_LOCK: Mapping[str, Any] = {"wait_channel": "locks_lock_inode_wait"}


@pytest.mark.parametrize(("looks", "told"), [(2, {}), (3, {"RUN406": VICTIM})])
def test_nobody_is_blamed_before_it_could_be_looked_up_who_holds_the_lock(
    looks: int, told: Mapping[str, int]
) -> None:
    """A monitor that gets no core looks every twenty seconds."""
    script = everybody(FILE_LOCK, OWN, since=0.0)
    assert reported(play(script, 20.0 * looks, interval=20.0)) == told
