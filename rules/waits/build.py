"""The graph of each job on this node, made once a frame for the first rule that asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.process_frames import ProcessFrame
from ..device._spinning import spin_seconds
from ..rule import Scene
from .graph import ACTORS, Edge, Graph, Key, Kind, Node
from .holders import Held, awaited, held, is_asleep
from .meetings import RENDEZVOUS, Meetings, meetings
from .missing import ended_ranks
from .motion import SHORTEST_SECONDS, Movement, movement, writes_to_terminal
from .programs import awaited_programs, living_below
from .ranks import rank_key
from .verdict import Cause, causes

LOADER_ALIBI_SECONDS = 2.0
_RESOURCES: dict[str, Kind] = {
    "lock": "lock",
    "file lock": "file lock",
    "timer": "timer",
    "pipe": "pipe",
    "socket": "socket",
    "unix socket": "socket",
    "disk": "file",
    "accept": "requests",
    "poll": "socket",
    "terminal": "terminal",
    "child": "program",
}
"""What a thread waits for, by the kernel function that it sleeps in → what it is in the graph."""
_MAY_COME_FROM_A_CHILD = frozenset({"lock", "pipe", "socket"})


class JobWaits(msgspec.Struct, frozen=True):
    """Who waits for whom in one job."""

    job: JobFrame
    graph: Graph
    causes: tuple[Cause, ...]
    movements: Mapping[Key, Movement]
    """Of its ranks, those that have just ended left out."""
    owners: Mapping[Key, Key]
    """Child, thread, or another process that holds what is waited for → the rank that waits for it."""
    meetings: Meetings
    waiting: tuple[Movement, ...]
    """Ranks that wait for others."""
    spins: frozenset[int]
    """Pids of ranks whose GPUs do nothing but spin."""

    @property
    def waited_seconds(self) -> float:
        """For how long somebody has waited for others."""
        return max((each.seconds for each in self.waiting), default=0.0)


def waits_of(job: JobFrame, scene: Scene) -> JobWaits:
    """The graph of a job, and where its paths end."""
    return all_waits(scene)[job.id]


def all_waits(scene: Scene) -> Mapping[str, JobWaits]:
    """Of all jobs, by id."""
    return scene.once(_all_waits)


def _all_waits(scene: Scene) -> dict[str, JobWaits]:
    return {job.id: _job_waits(job, scene) for job in scene.frame.running}


def _job_waits(job: JobFrame, scene: Scene) -> JobWaits:
    alone = len(job.ranks) == 1 and (job.world_size or 1) == 1  # its GPU spins for nobody
    moves = [movement(rank, scene) for rank in job.ranks]
    spins: set[int] = set()
    if not alone:
        moves = [_spinning(each, scene, spins) for each in moves]
        moves = _unveiled(moves)
    waiting = [each for each in moves if each.at_meeting and each.motion == "still" and not alone]
    met = meetings(job, waiting, scene)
    builder = _Builder(job, scene, met)
    for each in moves:
        builder.add(each, waits=any(each is other for other in waiting))
    graph = builder.graph()
    return JobWaits(
        job=job,
        graph=graph,
        causes=causes(graph),
        movements={rank_key(each.rank): each for each in moves},
        owners=builder.owners,
        meetings=met,
        waiting=tuple(waiting),
        spins=frozenset(spins),
    )


class _Builder:
    """Collects nodes and edges."""

    def __init__(self, job: JobFrame, scene: Scene, met: Meetings) -> None:
        self._job, self._scene, self._met = job, scene, met
        self._nodes: dict[Key, Node] = {}
        self._edges: list[Edge] = []
        self.owners: dict[Key, Key] = {}
        self._there: dict[Key, set[Key]] = {}

    def add(self, each: Movement, *, waits: bool) -> None:
        """A rank, and what it waits for."""
        key = rank_key(each.rank)
        self._nodes[key] = Node(
            key,
            each.motion,
            each.seconds,
            each.alibi_seconds,
            each.work,
            0.7 if each.rank.phase_source == "inferred" else 1.0,
        )
        if waits:
            meeting = self._met.of[each.rank.pid]
            orderly = each.witness.orderly or each.witness.rendezvous or self._in_barrier(each.rank)
            self._there.setdefault(meeting, set()).add(key)
            self._edges.append(
                Edge(key, meeting, each.seconds, self._met.strength, "place", orderly)
            )
        elif each.motion == "still":
            self._edges += self._resources(key, each)

    def graph(self) -> Graph:
        """With the meetings and those that have not come to them."""
        ranks = frozenset(rank_key(rank) for rank in self._job.ranks)
        afar = {name: Key("rank", name) for names in self._met.strangers.values() for name in names}
        everybody = ranks | frozenset(afar.values())
        if self._there:
            for exited in ended_ranks(self._job, self._scene.frame):
                key = Key("rank", str(exited.pid))
                age = self._scene.frame.monotonic_seconds - exited.monotonic_seconds
                self._nodes[key] = Node(key, "ended", age)
                everybody |= {key}
        for meeting, names in self._met.strangers.items():
            there = self._there.setdefault(meeting, set())
            for name in names:
                self._nodes[afar[name]] = Node(afar[name])
                self._edges.append(Edge(afar[name], meeting, 0.0, self._met.strength, "counts"))
                there.add(afar[name])
        for meeting, there in self._there.items():
            missing = sorted(everybody - there)
            self._edges += [Edge(meeting, key) for key in missing]
        members = dict.fromkeys(self._there, everybody)
        return Graph(self._nodes, tuple(self._edges), members)

    def _in_barrier(self, rank: RankFrame) -> bool:
        probe = self._scene.frame.probe(rank.pid, rank.start_time_seconds)
        return any(
            each.in_flight_monotonic_seconds is not None and "barrier" in each.operation
            for each in (probe.collectives if probe else ())
        )

    def _resources(self, key: Key, each: Movement) -> Iterator[Edge]:
        """What a rank that stands still, and not where ranks meet, waits for."""
        workers = loading_children(each.rank, self._scene)
        if workers:
            for worker in workers:
                child = Key("child", str(worker.pid))
                self.owners[child] = key
                self._nodes[child] = self._worker(child, worker, each)
                yield Edge(key, child, each.seconds, 1.0, "children")
            return
        activity = each.rank.activity
        kind = _RESOURCES.get(activity.wait or "") if activity else None
        if each.witness.lock_file:
            kind = "file lock"
        elif each.witness.without_gil:
            kind = "lock"
        elif writes_to_terminal(each.rank, self._scene):
            kind = "file"  # the kernel's function is the same as for a socket
        if kind is None or is_loading(each.rank):
            return
        if kind in _MAY_COME_FROM_A_CHILD:
            yield from self._stopped_children(key, each)
        thing = awaited(each.rank, self._scene.frame)
        on = Key(kind, thing.name if thing is not None else f"of {key.id}")
        yield Edge(key, on, each.seconds, 1.0, "wait channel")
        if kind == "program":
            yield from self._taken(awaited_programs(on, each, self._scene), each)
        elif thing is not None:
            yield from self._taken(held(on, thing, each, self._job, self._scene), each)

    def _stopped_children(self, key: Key, each: Movement) -> Iterator[Edge]:
        """Whoever waits, and has a child that was stopped, waits for that one: for what else was it made?"""
        for process in living_below(each.rank, self._scene):
            if process.state in ("T", "t"):
                child = Key("child", str(process.pid))
                self.owners.setdefault(child, key)
                self._nodes[child] = Node(child, "stopped", each.seconds)
                yield Edge(key, child, each.seconds, 1.0, "children")

    def _taken(self, there: Iterable[Held], each: Movement) -> Iterator[Edge]:
        for found in there:
            for node in found.nodes:
                self._nodes[node.key] = node
                if node.key.kind in ACTORS:
                    self.owners.setdefault(node.key, rank_key(each.rank))
            yield from found.edges

    def _worker(self, key: Key, worker: ProcessFrame, each: Movement) -> Node:
        if worker.state in ("T", "t"):
            return Node(key, "stopped", each.seconds)
        asleep = is_asleep(worker, self._scene, SHORTEST_SECONDS)
        return Node(key, "still" if asleep else "busy", each.seconds, LOADER_ALIBI_SECONDS)


def loading_children(rank: RankFrame, scene: Scene) -> list[ProcessFrame]:
    """The living processes below a rank that waits for its DataLoader workers."""
    if not is_loading(rank):
        return []
    return living_below(rank, scene)


def is_loading(rank: RankFrame) -> bool:
    """It waits for its DataLoader workers."""
    return rank.phase == "data" and "worker" in (rank.doing or "")


def _spinning(each: Movement, scene: Scene, spins: set[int]) -> Movement:
    """In NCCL its kernel spins, and the host spins with it or waits for the backward's thread."""
    index = each.rank.gpu_index
    gpu = scene.frame.gpu(index) if index is not None else None
    if gpu is None or each.at_meeting or each.work in ("startup", "compile", "checkpoint", "eval"):
        return each
    if each.motion not in ("still", "busy", "progress", "starved"):
        return each
    spun = spin_seconds(gpu, scene.history)
    if not spun:
        return each
    spins.add(each.rank.pid)
    return replace(each, motion="still", at_meeting=True, seconds=max(spun, _proven(each)))


def _proven(each: Movement) -> float:
    return each.seconds if each.proven else 0.0


def _unveiled(moves: list[Movement]) -> list[Movement]:
    """Where the kernel does not show what ranks sleep for, what the others do tells it.

    While one runs without a pause or is stopped, those that sleep wait for it; where all of them sleep,
    they wait for each other, and for whom cannot be reported.
    """
    veiled = [_is_veiled(each) for each in moves]
    if not any(veiled):
        return moves
    held_up = any(_holds_up(each) for each in moves)
    if not held_up and not all(
        hidden or (each.at_meeting and each.motion == "still")
        for each, hidden in zip(moves, veiled, strict=True)
    ):
        return moves
    return [
        replace(each, at_meeting=True) if hidden else each
        for each, hidden in zip(moves, veiled, strict=True)
    ]


def _holds_up(each: Movement) -> bool:
    if each.motion == "stopped":
        return True
    activity = each.rank.activity
    return (
        each.motion == "busy" and activity is not None and activity.busy_since_seconds is not None
    )


def _is_veiled(each: Movement) -> bool:
    activity = each.rank.activity
    return (
        each.motion == "still"
        and each.rank.phase_source == "inferred"
        and activity is not None
        and activity.wait_channel is None
        and activity.state == "S"
    )


def rendezvous_waits(waits: JobWaits) -> bool:
    """Its ranks wait before the process group exists."""
    return any(key == RENDEZVOUS for key in waits.meetings.of.values())


def ranks_of(keys: Sequence[Key], waits: JobWaits) -> list[RankFrame]:
    """The ranks among these, and those whose children they are, in order."""
    pids = dict.fromkeys(waits.owners.get(key, key).id for key in keys)
    return [rank for rank in waits.job.ranks if str(rank.pid) in pids]
