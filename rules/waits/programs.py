"""What a rank waits for that waits for another program to end: which of those below it, and how they fare."""

from __future__ import annotations

from collections.abc import Iterator

from ...probes.model.job_frames import RankFrame
from ...probes.model.process_frames import ProcessFrame
from ..rule import Scene
from .graph import Edge, Key, Node
from .holders import Held, motion_of
from .motion import Movement
from .working import LOADER


def awaited_programs(on: Key, each: Movement, scene: Scene) -> Iterator[Held]:
    """Edges to all that live below the rank, without those that load its data: for which of them it waits
    the kernel does not say, and one that works may be the one, also where a shell stands in between."""
    below = [process for process in living_below(each.rank, scene) if process.name != LOADER]
    for process in below:
        key = Key("child", str(process.pid))
        node = Node(key, motion_of(process, scene), each.seconds)
        yield Held((Edge(on, key, each.seconds, 1.0, "parent"),), (node,))
    if len(below) > 1:
        yield Held((), (Node(on, any_of=True),))


def living_below(rank: RankFrame, scene: Scene) -> list[ProcessFrame]:
    """Its children and theirs, without those that are dead and not yet buried."""
    return [
        process
        for pid in rank.workers
        if (process := scene.frame.process(pid)) is not None and process.state != "Z"
    ]
