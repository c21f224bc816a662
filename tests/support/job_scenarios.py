"""The ten things that a job can be, each with what gputop must say of it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.real_jobs import RealJob, diagnose, found, job

Found = dict[str, int | None]
"""Rule → the rank that it names."""


def nothing(_: RealJob) -> None:
    """The fault is in the job itself."""


def stop(running: RealJob) -> None:
    """Hold rank 1."""
    os.kill(running.ranks[1], signal.SIGSTOP)


def kill_later(running: RealJob) -> None:
    """End rank 1 once it is being watched."""
    threading.Timer(8.0, os.kill, (running.ranks[1], signal.SIGKILL)).start()


@dataclass(frozen=True)
class Scenario:
    """One of the ten."""

    fault: str
    found: Found = field(default_factory=dict[str, "int | None"])
    act: Callable[[RealJob], None] = nothing
    seconds: float = 10.0
    faulty_rank: int = 1


SCENARIOS = {
    "healthy": Scenario("none"),
    "sleeping data set": Scenario("sleeping_data_set", {"RUN406": 1}),
    "blocked read": Scenario("blocked_read", {"HST125": 1}),
    "endless loop": Scenario("endless_loop", {"RUN406": 1}),
    "mismatch": Scenario("mismatch", {"RUN404": 1}),
    "stopped": Scenario("none", {"RUN423": 1}, stop),
    "killed": Scenario("none", {"RUN424": 1}, kill_later, seconds=15.0),
    "dead loader": Scenario("dead_loader", {"HST115": 1}),
    "checkpoint": Scenario("checkpoint", {"RUN419": 0}, faulty_rank=0),
    "compiling": Scenario("compile"),
}


@dataclass(frozen=True)
class Outcome:
    """What was said."""

    code: int
    found: Found
    """By the rank that gputop names."""
    processes: Found
    """By whose process it is, also where gputop cannot know its rank."""
    report: dict[str, Any]

    @property
    def ranks(self) -> list[dict[str, Any]]:
        """What was reported of each rank."""
        return list(self.report["job"]["ranks"])


def play(
    name: str,
    folder: Path,
    *,
    job_before: Sequence[str] = (),
    gputop_before: Sequence[str] = (),
    **environment: str,
) -> Outcome:
    """Start the job, let it come to its fault, and ask ``gputop diagnose`` about it.

    Args:
        name: of the scenario.
        folder: for the job's files, empty.
        job_before: words before the job's command, such as ``setpriv``.
        gputop_before: words before gputop's.
        environment: more variables of the job.
    """
    scenario = SCENARIOS[name]
    environment["FAULTY_RANK"] = str(scenario.faulty_rank)
    with job(scenario.fault, folder, ranks=2, before=job_before, **environment) as running:
        scenario.act(running)
        code, report = diagnose(running.launcher, *gputop_before, seconds=scenario.seconds)
        states = [running.state(rank) for rank in range(2) if running.lives(rank)]
    assert states.count("T") == (name == "stopped"), states
    return Outcome(code, found(report), _by_process(report, running.ranks), report)


def _by_process(report: dict[str, Any], ranks: Sequence[int]) -> Found:
    named: Found = {}
    for finding in report["findings"]:
        if finding["id"] in found(report):
            process = finding["subject"]["id"].rpartition(" ")[2].partition("@")[0]
            known = process.isdecimal() and int(process) in ranks
            named[finding["id"]] = ranks.index(int(process)) if known else None
    return named
