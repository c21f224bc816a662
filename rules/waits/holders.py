"""Who holds what a rank waits for: what was looked up of its wait, as nodes and edges of the graph.

Only what is surely needed becomes an edge: the holder of a lock, whoever has the other end of a pipe, a
child at the far end of a socket. A server that does not answer is told as evidence: to sleep is its work.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.process_frames import ProcessFrame
from ...probes.model.wait_readings import HAS_OPEN, HolderReading, ThingReading, WaitReading
from ..rule import Scene
from .graph import Edge, Key, Motion, Node
from .motion import SHORTEST_SECONDS, Movement
from .places import witness_of
from .ranks import rank_key
from .working import IDLE_CORES, bytes_move

_FOLLOWED = frozenset({"file lock", "mutex", "pipe", "fifo"})
_ANY_WILL_DO = frozenset({"pipe", "fifo"})
"""Whoever writes ends the wait; a lock must be let go by all that hold it."""


class Held(msgspec.Struct, frozen=True):
    """What one holder adds to the graph."""

    edges: tuple[Edge, ...]
    nodes: tuple[Node, ...] = ()
    """Of holders that are no ranks: these have nodes of their own."""


def wait_of(rank: RankFrame, frame: Frame) -> WaitReading | None:
    """What was looked up of the wait that it is in now."""
    activity = rank.activity
    since = (activity.still_since_seconds or activity.polls_since_seconds) if activity else None
    found = frame.wait_of(rank.pid, rank.start_time_seconds)
    if since is None or found is None or found.monotonic_seconds < since:
        return None
    return found


def awaited(rank: RankFrame, frame: Frame) -> ThingReading | None:
    """The one thing that it waits for; ``None`` where there are several, or none is known."""
    found = wait_of(rank, frame)
    if found is None or len(found.things) != 1:
        return None
    thing = found.things[0]
    return None if thing.call == HAS_OPEN and not polls_lock(rank, frame) else thing


def polls_lock(rank: RankFrame, frame: Frame) -> bool:
    """Its own stack says that it tries a lock again and again."""
    return witness_of(rank, frame).lock_file


def held(
    on: Key, thing: ThingReading, each: Movement, job: JobFrame, scene: Scene
) -> Iterator[Held]:
    """Edges from what is waited for to those that hold it, as far as it is known how they move."""
    ranks = {rank.pid for rank in job.ranks}
    for holder in thing.holders:
        child = holder.pid in each.rank.workers
        if thing.kind not in _FOLLOWED and not child:
            continue
        if holder.tid is None and holder.pid in ranks:
            yield Held((Edge(on, Key("rank", str(holder.pid)), each.seconds, 1.0, "holder"),))
            continue
        node = _node(holder, each, scene, child=child)
        if node is not None:
            edges = (Edge(on, node.key, each.seconds, 1.0, "holder"),)
            yield Held((*edges, *_back(node.key, holder, each)), (node,))
    if thing.kind in _ANY_WILL_DO and len(thing.holders) > 1:
        yield Held((), (Node(on, any_of=True),))


def _back(key: Key, holder: HolderReading, each: Movement) -> Iterator[Edge]:
    """The thread that owns it waits for what the main thread owns."""
    if holder.waits_back:
        mutex = Key("lock", f"what the main thread of {each.rank.pid} owns")
        yield Edge(key, mutex, each.seconds, 1.0, "mutex")
        yield Edge(mutex, rank_key(each.rank), each.seconds, 1.0, "mutex")


def _node(holder: HolderReading, each: Movement, scene: Scene, *, child: bool) -> Node | None:
    process = scene.frame.process(holder.pid) if child else None
    if holder.tid is not None:
        key = Key("thread", str(holder.tid))
    else:
        key = Key("child" if child else "process", str(holder.pid))
    motion = motion_of(process, scene) if process is not None else _motion(holder)
    return None if motion is None else Node(key, motion, each.seconds)


def _motion(holder: HolderReading) -> Motion | None:
    if holder.state in ("T", "t"):
        return "stopped"
    if holder.state == "R":
        return "busy"  # also where it gets no core: its counters stand still then
    if holder.still_seconds is None:
        return None  # one look does not tell
    return "still" if holder.still_seconds >= SHORTEST_SECONDS else "busy"


def motion_of(process: ProcessFrame, scene: Scene) -> Motion:
    """How a child of a rank fares, by its own counters."""
    if process.state in ("T", "t"):
        return "stopped"
    if bytes_move(process):
        return "progress"
    return "still" if is_asleep(process, scene, SHORTEST_SECONDS) else "busy"


def is_asleep(process: ProcessFrame, scene: Scene, seconds: float) -> bool:
    """It has used no CPU for so long."""
    cores = scene.history.process(process.pid, "cpu_cores").window(seconds)
    return bool(cores) and max(cores) <= IDLE_CORES and process.state != "R"
