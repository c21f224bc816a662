"""A process alone that runs in a loop without an effect, or whose step is overdue, is told; what works, or has nothing to
do between two steps, is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from gputop.probes.model.rank_readings import BlockedFile, BusyLoop, StackThreadReading
from gputop.rules.closer_look import worth_a_look

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import BEGAN, probe, rank_pid
from support.stall_scenes import FROM, LOOPING, VICTIM, everybody, frames, reported
from support.wait_scenes import with_threads

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


def looked_once(script: Script, at: float = FROM + 5) -> Script:
    """No later look at its stack succeeds."""
    (seen,) = script(at).stacks

    def once(second: float) -> Changes:
        changes = script(second)
        changes.stacks = [seen] if second >= at else []
        return changes

    return once


def test_one_look_at_its_loop_is_enough() -> None:
    assert reported(play(looked_once(running()), MINUTE)) == {"RUN406": 0}


def test_of_whom_no_stack_could_be_taken_yet_nothing_is_told_unless_none_ever_can() -> None:
    waits = everybody(LOCK, OWN, ranks=1, victims=frozenset({0}))

    def without(failure: str, refusal: str) -> Script:
        def script(second: float) -> Changes:
            changes = waits(second)
            changes.stacks = [
                msgspec.structs.replace(each, main_stacks=(), failure=failure, refusal=refusal)
                for each in changes.stacks
            ]
            return changes

        return script

    late = without("py-spy gave no answer in 2 s", "py-spy gave no answer in 2 s")
    assert reported(play(late, MINUTE)) == {}
    assert reported(play(without("", "no permission"), MINUTE)) == {"RUN406": 0}


POLLS: Mapping[str, Any] = {"wait_channel": "poll_schedule_timeout"}


@pytest.mark.parametrize("file", ["/dev/pts/4", "socket:[7]"])
def test_a_trainer_that_polls_in_the_time_of_many_steps_is_no_server_unless_somebody_types(
    file: str,
) -> None:
    script = everybody(POLLS, OWN, ranks=1, victims=frozenset({0}))

    def trained(second: float) -> Changes:
        changes = script(second)
        changes.probes = (
            msgspec.structs.replace(
                probe(0, second, "other", max(0.1, second - FROM)),
                rank=0,
                step=40,
                step_seconds=0.1,
                step_monotonic_seconds=BEGAN + min(second, FROM),
            ),
        )
        if second >= FROM + 2:
            blocked = BlockedFile(call="reads", path=file)
            own = {**changes.processes[rank_pid(0)], "blocked_on": blocked}
            changes.processes = {**changes.processes, rank_pid(0): own}
        return changes

    told = {} if file.startswith("/dev") else {"RUN406": 0}
    assert reported(play(trained, MINUTE + 8)) == told


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


SLEEPS: Mapping[str, Any] = {"wait_channel": "hrtimer_nanosleep"}
LOCK: Mapping[str, Any] = {"wait_channel": "futex_do_wait"}
QUEUE = frames("threading.py:wait:327", "queue.py:get:171", "train.py:main:9")
MAIN = StackThreadReading(frames=QUEUE, name="MainThread", main=True)
OURS = StackThreadReading(frames=(), name="gputop-control", hands_over=False, sleeps=False)


def overdue(victim: Mapping[str, Any], phase: str) -> Script:
    """One alone that stands still so since its last step, by its page in that phase."""
    base = everybody(victim, QUEUE, ranks=1, victims=frozenset({0}))

    def script(second: float) -> Changes:
        still = max(0.0, second - FROM)
        page = msgspec.structs.replace(
            probe(0, second, phase if still else "forward", still),
            rank=0,
            step=40,
            step_seconds=0.2,
            step_monotonic_seconds=BEGAN + min(second, FROM),
        )
        return replace(base(second), probes=[page])

    return script


@pytest.mark.parametrize(("phase", "told"), [("other", {}), ("data", {"RUN406": 0})])
def test_one_that_sleeps_between_two_steps_may_wait_for_the_hour(
    phase: str, told: Mapping[str, int]
) -> None:
    assert reported(play(overdue(SLEEPS, phase), MINUTE)) == told


def test_one_in_a_lock_between_two_steps_hangs() -> None:
    assert reported(play(overdue(LOCK, "other"), MINUTE)) == {"RUN406": 0}


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"hands_over": True, "sleeps": True}, {}),
        ({"hands_over": True, "sleeps": False}, {"RUN406": 0}),
        ({"hands_over": False, "sleeps": True}, {"RUN406": 0}),
        ({"hands_over": None, "sleeps": True}, {"RUN406": 0}),
        ({}, {"RUN406": 0}),
    ],
    ids=[
        "a scheduler",
        "a reader that hangs",
        "a heartbeat",
        "without its source",
        "not looked up",
    ],
)
def test_a_queue_that_a_thread_fills_on_time_is_waited_for(
    other: Mapping[str, Any], told: Mapping[str, int]
) -> None:
    thread = StackThreadReading(frames=(), name="scheduler", active=False, **other)
    script = with_threads(overdue(LOCK, "other"), MAIN, OURS, thread)
    assert reported(play(script, MINUTE)) == told


def test_the_probes_own_threads_are_not_told() -> None:
    script = with_threads(overdue(LOCK, "other"), MAIN, OURS)
    finding = play(script, MINUTE).one("RUN406")
    others = [each for each in finding.evidence if each.signal == "other_python_threads"]
    assert not any("gputop" in str(each.value) for each in others)


def test_a_thread_that_sleeps_with_the_interpreter_is_what_to_look_at() -> None:
    owner = StackThreadReading(
        frames=(), name="reader", active=False, owns_gil=True, place="read (data.py:8)"
    )
    base = everybody(LOCK, QUEUE)
    finding = play(with_threads(base, MAIN, owner), MINUTE).one("RUN406")
    assert evidence(finding, "interpreter_held_by").value
    assert "thread reader, which sleeps in C code" in (finding.next_step or "")
    assert "read (data.py:8) has to release the GIL" in (finding.next_step or "")
