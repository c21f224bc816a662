"""Who waits to be given work is left alone unless others wait for it; who waits in vain is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gputop.probes.model.rank_readings import Stack, StackThreadReading

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.stall_scenes import BARRIER, FROM, VICTIM, everybody, frames, reported
from support.wait_scenes import waits_for, with_threads

Victim = Mapping[str, Any]
LOCK: Victim = {"wait_channel": "futex_do_wait"}
POLL: Victim = {"wait_channel": "poll_schedule_timeout"}
SOCKET: Victim = {"wait_channel": "wait_woken"}
TERMINAL: Victim = {"wait_channel": "n_tty_read"}
MINUTE = FROM + 62
MAIN = "train.py:main:111"
JOIN = frames("threading.py:join:1149", MAIN)
BODY = frames("socket.py:readinto:718", "http/client.py:read:479", "train.py:fetch_weights:8", MAIN)
HEAD = frames(
    "socket.py:readinto:718",
    "http/client.py:_read_status:292",
    "http/client.py:getresponse:1428",
    "train.py:ask:8",
    MAIN,
)
TASK = frames(
    "multiprocessing/connection.py:_recv:395", "multiprocessing/connection.py:recv:250", MAIN
)
READ = frames("train.py:ask:8", MAIN)
PDB = frames("bdb.py:dispatch_line:90", "train.py:main:111")


def alone(victim: Victim, stack: Stack) -> Script:
    """One process, of which everything was looked up that may be."""
    script = everybody(victim, stack, ranks=1, victims=frozenset({0}))

    def looked(second: float) -> Changes:
        changes = script(second)
        if second >= FROM + 3 and victim is not LOCK:
            changes.waits = [waits_for(0, second, "socket", "10.0.0.3:443")]
        return changes

    return looked


@pytest.mark.parametrize(
    ("victim", "stack", "told"),
    [
        (POLL, BODY, {"HST125": 0}),
        (SOCKET, BODY, {"HST125": 0}),
        (POLL, HEAD, {}),
        (POLL, READ, {}),
        (SOCKET, READ, {"HST125": 0}),
        (SOCKET, TASK, {}),
    ],
    ids=["body", "body without a limit", "head", "some poll", "some read", "next task"],
)
def test_of_one_alone_at_a_socket(victim: Victim, stack: Stack, told: Mapping[str, int]) -> None:
    assert reported(play(alone(victim, stack), MINUTE)) == told


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("socketserver.py:serve_forever:235", {}),
        ("socket.py:accept:292", {}),
        ("data.py:reader:8", {"RUN406": 0}),
    ],
)
def test_of_one_alone_that_waits_for_the_end_of_a_thread(
    place: str, told: Mapping[str, int]
) -> None:
    main = StackThreadReading(frames=JOIN, name="MainThread", main=True)
    other = StackThreadReading(frames=frames(place), name="other", active=False)
    script = with_threads(alone(LOCK, JOIN), main, other)
    assert reported(play(script, MINUTE)) == told


def test_a_prompt_for_which_others_wait_is_told() -> None:
    played = play(everybody(TERMINAL, PDB), 30)
    assert reported(played) == {"RUN406": VICTIM}
    words = str(evidence(played.one("RUN406"), "waits_for").value)
    assert words == "somebody who types at its prompt or debugger"


def test_a_prompt_beside_a_barrier_is_somebodys_wish() -> None:
    assert reported(play(everybody(TERMINAL, PDB, others=BARRIER), 30)) == {}


def test_a_prompt_alone_is_left_alone() -> None:
    assert reported(play(alone(TERMINAL, PDB), MINUTE)) == {}


def test_a_server_for_which_others_wait_is_no_prompt() -> None:
    serves = frames("socketserver.py:serve_forever:235", MAIN)
    assert reported(play(everybody(POLL, serves), 30)) == {}
