"""What excuses a rank for which others wait, for how long, and what does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from gputop.probes.model.rank_readings import Stack

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import rank_pid
from support.stall_scenes import (
    BARRIER,
    FROM,
    LOOPING,
    RENDEZVOUS,
    SAVING,
    SLEEPING,
    VICTIM,
    everybody,
    frames,
    reported,
    stacks,
    thread,
)

OWN = frames("train.py:next_batch:88", "train.py:main:111")
TOKENIZING = frames("train.py:tokenize:88", "train.py:main:111")
EVALUATING = frames("transformers/trainer.py:evaluation_loop:4471", "train.py:main:140")
FIFO = {"wait_channel": "wait_for_partner"}
LOCK = {"wait_channel": "futex_do_wait"}
SOCKET = {"wait_channel": "wait_woken"}
FILE_LOCK = {"wait_channel": "locks_lock_inode_wait"}


def polling(stack: Stack, others: Stack) -> Script:
    """The victim sleeps for short times and looks again, as who polls a lock file."""
    base = everybody({}, stack, others=others)

    def script(second: float) -> Changes:
        changes = base(second)
        if second >= FROM:
            wakes = {
                "wait_channel": "hrtimer_nanosleep",
                "voluntary_switches": int(2500 + 20 * (second - FROM)),
            }
            changes.threads = [
                thread(VICTIM, second, FROM, **wakes) if each.pid == rank_pid(VICTIM) else each
                for each in changes.threads
            ]
        return changes

    return script


@pytest.mark.parametrize(
    ("victim", "rule"),
    [(FIFO, "HST125"), (SOCKET, "HST125"), (LOCK, "RUN406"), (FILE_LOCK, "RUN406")],
)
@pytest.mark.parametrize("stack", [SAVING, EVALUATING])
def test_who_is_blocked_while_it_saves_or_evaluates_is_blocked(
    victim: Mapping[str, Any], rule: str, stack: Stack
) -> None:
    assert reported(play(everybody(victim, stack), 25)) == {rule: VICTIM}


def test_a_lock_while_the_process_works_on_is_the_work_of_its_other_threads() -> None:
    assert reported(play(everybody(LOCK, SAVING, dry=False), 25)) == {"RUN419": VICTIM}


@pytest.mark.parametrize(
    ("stack", "others", "expected"),
    [
        (OWN, None, {"RUN406": VICTIM}),
        (TOKENIZING, None, {"RUN427": VICTIM}),
        (OWN, BARRIER, {"RUN427": VICTIM}),
        (OWN, RENDEZVOUS, {"RUN427": VICTIM}),
    ],
)
def test_a_loop_is_excused_by_its_name_or_by_where_the_others_wait(
    stack: Stack, others: Stack | None, expected: Mapping[str, int]
) -> None:
    script = everybody(LOOPING, stack, others=others) if others else everybody(LOOPING, stack)
    played = play(script, 40)
    assert reported(played) == expected
    (rule,) = expected
    assert played.one(rule).severity == ("warning" if rule == "RUN406" else "info")


def test_in_a_barrier_it_is_excused_until_it_stops_moving() -> None:
    assert reported(play(everybody(SLEEPING, OWN, others=BARRIER), 25)) == {"RUN406": VICTIM}


@pytest.mark.parametrize(
    ("victim", "rule"), [(FILE_LOCK, "RUN406"), (SOCKET, "HST125"), (SLEEPING, "RUN406")]
)
def test_who_has_not_come_to_the_rendezvous_is_named_with_what_it_does(
    victim: Mapping[str, Any], rule: str
) -> None:
    played = play(everybody(victim, OWN, others=RENDEZVOUS), 25)
    assert reported(played) == {rule: VICTIM}
    words = str(evidence(played.one(rule), "others_wait_in").value)
    assert "rendezvous" in words and "not joined" in words


def test_a_poll_loop_is_standing_still() -> None:
    lock = frames("filelock/_api.py:acquire:310", "train.py:main:9")
    played = play(polling(lock, RENDEZVOUS), FROM + 9)
    assert reported(played) == {"RUN406": VICTIM}
    assert evidence(played.one("RUN406"), "waits_for").value == "a file lock"
    # In the middle of the training it may be an engine's turn: it gets more time.
    assert not play(polling(OWN, BARRIER), FROM + 7).ever()
    assert reported(play(polling(OWN, BARRIER), FROM + 20)) == {"RUN406": VICTIM}


def test_a_rank_that_gets_no_core_is_not_still() -> None:
    starved = {"state": "R", "wait_channel": None}
    assert not play(everybody(starved, None), 25).ever() & {"RUN406", "HST125"}


def test_a_stack_from_before_the_standstill_is_no_witness() -> None:
    base = everybody(SLEEPING, None)

    def script(second: float) -> Changes:
        changes = base(second)
        old = stacks(min(second, FROM - 2), {VICTIM: SAVING})
        changes.stacks = [*changes.stacks, *old] if second >= FROM - 2 else changes.stacks
        return changes

    assert reported(play(script, FROM + 9)) == {"RUN406": VICTIM}


def test_one_dump_is_half_a_witness() -> None:
    base = everybody(SLEEPING, OWN)

    def script(second: float) -> Changes:
        changes = base(second)
        changes.stacks = [
            msgspec.structs.replace(each, main_stacks=each.main_stacks[:1], taken=1)
            for each in changes.stacks
        ]
        return changes

    assert play(script, 25).one("RUN406").confidence == 0.5
    assert play(base, 25).one("RUN406").confidence > 0.5
