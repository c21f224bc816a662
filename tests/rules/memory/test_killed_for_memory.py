"""Processes that the kernel has killed for memory: a job's worker, a stranger, one of long ago."""

from __future__ import annotations

from typing import Any

import pytest

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import log_line, rank_pid, worker_pid


def killed(second: float, pid: int | None, **fields: Any) -> Script:
    def script(now: float) -> Changes:
        line = log_line(second, "oom kill", pid=pid, command_name="python", **fields)
        return Changes(kernel_log=(line,) if now >= second else ())

    return script


def test_a_worker_of_a_rank() -> None:
    found = play(killed(3, worker_pid(2), limited_cgroup="/job", anonymous_bytes=1 << 30), 6).one(
        "MEM310"
    )
    assert (found.severity, found.subject.rank) == ("warning", 2)
    assert evidence(found, "limited_cgroup").value == "/job"
    assert found.subject.job is not None


def test_it_is_of_its_rank_too_once_the_process_is_gone() -> None:
    at = worker_pid(2)

    def script(now: float) -> Changes:
        line = log_line(3, "oom kill", pid=at, command_name="python")
        return Changes(kernel_log=(line,) if now >= 3 else (), without=(2,) if now >= 4 else ())

    assert play(script, 90).one("MEM310").subject.rank == 2


@pytest.mark.parametrize(
    ("second", "pid"),
    [(3.0, 77), (3.0, None), (-5000.0, 77)],
    ids=["a stranger", "a pid of another namespace", "long ago"],
)
def test_what_is_information(second: float, pid: int | None) -> None:
    found = play(killed(second, pid), 6).one("MEM310")
    assert (found.severity, found.subject.job) == ("info", None)
    assert evidence(found, "limited_cgroup").value == "the whole host"


def test_a_pid_that_has_come_back_is_somebody_else() -> None:
    """The kill is older than the rank that has this pid now, or that rank lives on long after it."""
    before_it_began = play(killed(-6000.0, rank_pid(1)), 2).one("MEM310")
    lives_on = play(killed(-300.0, rank_pid(1)), 2).one("MEM310")
    assert (before_it_began.subject.rank, lives_on.subject.rank) == (None, None)
