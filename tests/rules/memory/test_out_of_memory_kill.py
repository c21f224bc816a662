"""Kills by the kernel: those of this watch are an error, those from before are told."""

from __future__ import annotations

from gputop.probes.model.rank_readings import ExitReading

from support.rules_scenes import Changes, Script, play
from support.scene_readings import BEGAN, rank_pid


def kills(count: int | None, at: float = 20.0, before: int = 0) -> Script:
    def script(second: float) -> Changes:
        now = None if count is None else before + (count if second >= at else 0)
        return Changes(cgroup={"oom_kills": now})

    return script


def test_a_kill_while_it_is_watched() -> None:
    found = play(kills(1), 40).one("MEM309")
    assert (found.severity, found.subject.kind) == ("error", "cgroup")


def test_kills_from_before_are_information() -> None:
    found = play(kills(0, before=3), 40).one("MEM309")
    assert (found.severity, found.name) == ("info", "processes killed before this watch")


def test_near_misses() -> None:
    assert "MEM309" not in play(kills(0), 40).ever()
    assert "MEM309" not in play(kills(None), 40).ever()


def test_it_is_the_cause_of_a_rank_that_was_killed() -> None:
    base = kills(1)

    def script(second: float) -> Changes:
        changes = base(second)
        if second >= 20:
            changes.without = (5,)
            changes.exits = [
                ExitReading(
                    pid=rank_pid(5),
                    start_time_seconds=5001.0,
                    monotonic_seconds=BEGAN + 20,
                    signal=9,
                )
            ]
        return changes

    gone = play(script, 40).one("RUN424")
    assert gone.explained_by is not None and gone.explained_by.id == "MEM309"
