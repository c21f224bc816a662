"""What was looked up of a rank's wait, for scenes."""

from __future__ import annotations

from typing import Any

import msgspec

from gputop.probes.model.process_readings import ProcessReading
from gputop.probes.model.rank_readings import StackThreadReading
from gputop.probes.model.wait_readings import (
    HolderPart,
    HolderReading,
    ThingKind,
    ThingReading,
    WaitReading,
)

from support.rules_scenes import Changes, Script
from support.scene_readings import BEGAN, rank_pid
from support.stall_scenes import VICTIM


def holder(pid: int, part: HolderPart = "holds", **fields: Any) -> HolderReading:
    """A process that sleeps, and has done so for long."""
    given: dict[str, Any] = {
        "name": "python",
        "state": "S",
        "wait_channel": "hrtimer_nanosleep",
        "still_seconds": 30.0,
    }
    return HolderReading(pid=pid, start_time_seconds=7.0, part=part, **(given | fields))


def waits_for(
    rank: int, second: float, kind: ThingKind, name: str, *holders: HolderReading, **fields: Any
) -> WaitReading:
    """A rank's wait for one thing."""
    return WaitReading(
        monotonic_seconds=BEGAN + second,
        pid=rank_pid(rank),
        start_time_seconds=5001.0,
        switches=7,
        things=(
            ThingReading(kind=kind, name=name, holders=holders, **{"call": "reads", **fields}),
        ),
    )


def child_of(rank: int, second: float, pid: int, **fields: Any) -> ProcessReading:
    """A child that neither runs nor has anything to do with loading."""
    given: dict[str, Any] = {
        "state": "S",
        "cpu_seconds": 3.0,
        "name": "python",
        "command": ("python", "train.py"),
    }
    return ProcessReading(
        monotonic_seconds=BEGAN + second,
        pid=pid,
        start_time_seconds=6000.0,
        parent_pid=rank_pid(rank),
        **(given | fields),
    )


def with_threads(script: Script, *threads: StackThreadReading, **fields: Any) -> Script:
    """The same; the dumps of the first rank and of the victim have these threads."""

    def dumped(second: float) -> Changes:
        changes = script(second)
        changes.stacks = [
            msgspec.structs.replace(each, threads=threads, **fields)
            if each.pid in (rank_pid(0), rank_pid(VICTIM))
            else each
            for each in changes.stacks
        ]
        return changes

    return dumped
