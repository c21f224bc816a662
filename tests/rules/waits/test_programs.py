"""A rank that waits for another program: one that works is an alibi, one that stands still or is stopped is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from support.rules_scenes import Changes, Script, play
from support.stall_scenes import FROM, VICTIM, everybody, frames, reported
from support.wait_scenes import child_of

OWN = frames("subprocess.py:wait:1264", "train.py:prepare:88", "train.py:main:111")
FOR_PROGRAM = {"wait_channel": "do_wait"}
CHILD, GRANDCHILD = 3000, 3001
MINUTE = FROM + 62


def works(second: float) -> dict[str, Any]:
    return {"state": "R", "cpu_seconds": second}


def still(_: float) -> dict[str, Any]:
    return {}


def stopped(_: float) -> dict[str, Any]:
    return {"state": "T"}


Fares = Callable[[float], dict[str, Any]]


def waiting(ranks: int, **programs: Fares) -> Script:
    """The victim waits for a program; ``child`` is its own, ``below`` one that this has started."""
    victim = 0 if ranks == 1 else VICTIM
    script = everybody(FOR_PROGRAM, OWN, ranks=ranks, victims=frozenset({victim}))
    pids = {"child": CHILD, "below": GRANDCHILD}

    def with_programs(second: float) -> Changes:
        there = [
            child_of(victim, second, pids[name], **fares(second))
            for name, fares in programs.items()
        ]
        return replace(script(second), more_processes=there)

    return with_programs


@pytest.mark.parametrize(
    ("programs", "told"),
    [
        ({"child": works}, {"RUN427": VICTIM}),
        ({"child": still}, {"RUN406": VICTIM}),
        ({"child": stopped}, {"RUN423": VICTIM}),
        ({"child": still, "below": works}, {"RUN427": VICTIM}),
        ({"child": still, "below": stopped}, {"RUN423": VICTIM}),
        ({}, {"RUN406": VICTIM}),
    ],
    ids=["works", "still", "stopped", "a shell", "a shell and stopped", "not seen"],
)
def test_while_others_wait(programs: dict[str, Fares], told: dict[str, int]) -> None:
    assert reported(play(waiting(8, **programs), 30)) == told


def test_a_stopped_program_is_named_with_what_to_do() -> None:
    finding = play(waiting(8, child=stopped), 30).one("RUN423")
    assert finding.next_step == f"Its child {CHILD} is stopped; let it go on: kill -CONT {CHILD}."


def test_a_program_that_works_is_information() -> None:
    assert play(waiting(8, child=works), 30).one("RUN427").severity == "info"


@pytest.mark.parametrize(
    ("programs", "told"),
    [({"child": works}, {}), ({"child": still}, {}), ({"child": stopped}, {"RUN423": 0})],
    ids=["works", "still", "stopped"],
)
def test_of_one_process_alone_only_a_stopped_program_is_told(
    programs: dict[str, Fares], told: dict[str, int]
) -> None:
    assert reported(play(waiting(1, **programs), MINUTE)) == told
