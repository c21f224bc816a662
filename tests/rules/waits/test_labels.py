"""A hang for which nobody waits: told after a minute, if progress was seen, and never of who has nothing to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from gputop.probes.model.rank_readings import BlockedFile, Stack

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import BEGAN, probe, rank_pid
from support.stall_scenes import (
    FROM,
    LOOPING,
    RULES,
    SLEEPING,
    everybody,
    frames,
    reported,
)

SOCKET = {"wait_channel": "wait_woken"}
LOCK = {"wait_channel": "futex_do_wait"}
PIPE = {"wait_channel": "anon_pipe_read"}
FIFO = {"wait_channel": "wait_for_partner"}
FILE_LOCK = {"wait_channel": "locks_lock_inode_wait"}
OWN = frames("train.py:next_batch:88", "train.py:main:111")
MINUTE = FROM + 62


def hang(
    victim: Mapping[str, Any], stack: Stack | None = OWN, *, since: float | None = FROM
) -> Script:
    """One process alone."""
    return everybody(victim, stack, ranks=1, victims=frozenset({0}), since=since)


def paged(script: Script, phase: str = "data", *, steps: int | None = 40) -> Script:
    """The same with a page: its steps ended when it came to stand still."""

    def with_page(second: float) -> Changes:
        changes = script(second)
        moved = BEGAN + min(second, FROM)
        page = msgspec.structs.replace(
            probe(0, second, phase, max(0.1, second - FROM)),
            rank=0,
            step=steps,
            step_seconds=None if steps is None else 0.1,
            step_monotonic_seconds=None if steps is None else moved,
        )
        changes.probes = (page,)
        return changes

    return with_page


@pytest.mark.parametrize(
    ("victim", "rule"),
    [
        (SOCKET, "HST125"),
        (PIPE, "HST125"),
        (FIFO, "HST125"),
        (LOCK, "RUN406"),
        (FILE_LOCK, "RUN406"),
    ],
)
@pytest.mark.parametrize("probed", [True, False])
def test_one_process_alone_is_told_after_a_minute(
    victim: Mapping[str, Any], rule: str, probed: bool
) -> None:
    script = paged(hang(victim)) if probed else hang(victim)
    played = play(script, MINUTE)
    assert reported(played) == {rule: 0}
    assert played.one(rule).severity == "warning", "one witness less"
    assert not play(script, FROM + 25).ever() & RULES


def test_a_loop_without_a_step_is_told_where_the_page_counts_steps() -> None:
    assert reported(play(paged(hang(LOOPING)), MINUTE)) == {"RUN406": 0}
    assert not play(hang(LOOPING), MINUTE).ever() & RULES, "it may just compute"


def test_all_ranks_at_once_are_told() -> None:
    script = everybody(PIPE, OWN, ranks=2, victims=frozenset({0, 1}))
    found = play(script, MINUTE).all("HST125")
    assert {finding.subject.rank for finding in found} == {0, 1}


@pytest.mark.parametrize(
    "victim",
    [
        {"wait_channel": "inet_csk_accept"},
        {"wait_channel": "ep_poll"},
        {"wait_channel": "poll_schedule_timeout"},
        {"wait_channel": "n_tty_read"},
        {"wait_channel": "unix_stream_read_generic"},
        {"wait_channel": "do_wait"},
        SLEEPING,
    ],
)
def test_who_waits_to_be_given_work_is_left_alone(victim: Mapping[str, Any]) -> None:
    assert not play(hang(victim), FROM + 90).ever() & RULES


@pytest.mark.parametrize(
    "place",
    [
        ("socketserver.py:serve_forever:232", "serve.py:main:9"),
        ("code.py:interact:230", "train.py:main:9"),
        ("asyncio/base_events.py:run_forever:607", "kernel.py:main:9"),
        ("vllm/v1/engine/core.py:_process_input_queue:700", "serve.py:main:9"),
        ("queue.py:get:171", "serve.py:loop:9"),
    ],
)
def test_a_server_or_prompt_is_left_alone_whatever_it_sleeps_in(place: tuple[str, ...]) -> None:
    assert not play(hang(LOCK, frames(*place)), FROM + 90).ever() & RULES


def test_a_queue_is_no_excuse_where_steps_were_counted() -> None:
    queue = frames("queue.py:get:171", "train.py:main:9")
    assert reported(play(paged(hang(LOCK, queue)), MINUTE)) == {"RUN406": 0}


def test_what_was_never_seen_to_move_may_have_nothing_to_do() -> None:
    assert not play(hang(SOCKET, since=0.0), 90).ever() & RULES
    idle = paged(hang(SOCKET), "idle")
    assert not play(idle, FROM + 90).ever() & RULES


def test_a_terminal_is_told_by_its_file_where_the_wait_channel_does_not() -> None:
    script = paged(hang(SOCKET))

    def typed(second: float) -> Changes:
        changes = script(second)
        file = BlockedFile(call="reads", path="/dev/pts/1")
        here = dict(changes.processes)
        here[rank_pid(0)] = {**here[rank_pid(0)], "blocked_on": file}
        changes.processes = here
        return changes

    assert not play(typed, FROM + 90).ever() & RULES


def test_a_process_that_goes_on_is_no_hang() -> None:
    assert not play(hang(LOCK, since=None), 90).ever() & RULES


def test_the_file_is_named() -> None:
    script = hang(FILE_LOCK)

    def locked(second: float) -> Changes:
        changes = script(second)
        file = BlockedFile(call="locks", path="/data/cache.lock")
        here = dict(changes.processes)
        here[rank_pid(0)] = {**here[rank_pid(0)], "blocked_on": file}
        changes.processes = here
        return changes

    finding = play(locked, MINUTE).one("RUN406")
    assert evidence(finding, "file").value == "locks /data/cache.lock"
    assert evidence(finding, "waits_for").value == "a file lock"


EVALUATING = frames("train.py:evaluate_model:88", "train.py:main:111")


def looked_once(script: Script, at: float) -> Script:
    """Its stack was taken once, and not again."""

    def once(second: float) -> Changes:
        changes = script(second)
        changes.stacks = script(at).stacks if second >= at else []
        return changes

    return once


@pytest.mark.parametrize("at", [None, FROM + 20])
def test_busy_without_a_step_is_no_hang_where_its_own_name_is_of_long_work(
    at: float | None,
) -> None:
    def told(stack: Any, phase: str) -> dict[str, int | None]:
        script = paged(hang(LOOPING, stack), phase)
        return reported(play(script if at is None else looked_once(script, at), MINUTE + 20))

    assert told(EVALUATING, "data") == {}
    assert told(OWN, "data") == {"RUN406": 0}
    assert told(OWN, "other") == {}, "between two steps its program may have much to do"


def test_busy_without_a_step_is_judged_when_somebody_has_looked_or_nobody_may() -> None:
    unseen = paged(hang(LOOPING, None), "other")
    assert reported(play(unseen, MINUTE + 20)) == {}
