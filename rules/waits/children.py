"""Children of a rank that have ended badly and whose end nobody has asked for: zombies."""

from __future__ import annotations

import signal
from collections.abc import Collection

from ...probes.model.frame import Frame
from ...probes.model.job_frames import RankFrame
from ...probes.model.process_frames import ProcessFrame
from ..rule import Scene


def dead_children(rank: RankFrame, scene: Scene) -> list[ProcessFrame]:
    """Those that did not end well, as far as that is known."""
    found = (scene.frame.process(pid) for pid in rank.workers)
    return [
        each for each in found if each is not None and each.state == "Z" and each.exit_code != 0
    ]


def killed_children(rank: RankFrame, scene: Scene) -> list[ProcessFrame]:
    """Those that a signal or an error has ended for sure."""
    return [each for each in dead_children(rank, scene) if each.exit_signal or each.exit_code]


def how_it_ended(process: ProcessFrame) -> str:
    """In words."""
    if process.exit_signal is not None:
        try:
            name = signal.Signals(process.exit_signal).name
        except ValueError:
            return f"was killed by signal {process.exit_signal}"
        return f"was killed by {name} ({process.exit_signal})"
    if process.exit_code is not None:
        return f"has exited with code {process.exit_code}"
    return "has exited and is a zombie: nobody has asked how"


def oom_kills(groups: Collection[str | None], frame: Frame) -> int:
    """Kills for want of memory in these control groups since this watch began."""
    there = (each for each in frame.cgroups if each.path in groups)
    return sum(each.oom_kills_since_start or 0 for each in there)
