"""Which kind of sink stands at an end, so which rule speaks of it: each has its own cause, and one finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from ...probes.model.job_frames import JobFrame, RankFrame
from ..rule import Scene
from .build import (
    JobWaits,
    all_waits,
    is_loading,
    living_children,
    ranks_of,
    rendezvous_waits,
)
from .children import killed_children
from .graph import ACTORS, Key
from .holders import is_asleep
from .motion import LOOPS_SECONDS, SHORTEST_SECONDS, Movement, proven_seconds
from .ranks import rank_key
from .verdict import Cause

Label = Literal[
    "stopped",
    "finished",
    "loader",
    "read",
    "own",
    "compile",
    "checkpoint",
    "evaluation",
    "startup",
    "work",
    "mismatch",
    "all wait",
]
ALONE_SECONDS = 55.0
"""So long, where no other rank waits for it: then there is one witness less. A minute after the fault
it is to be told."""
OVERDUE_ALONE_SECONDS = 30.0
"""The same where the page tells that its step is overdue."""
SEEN_MOVING_SECONDS = 3.0
"""So long it was seen to move before: what has only ever waited may have nothing to do."""
_PHASES: dict[str, Label] = {
    "compile": "compile",
    "checkpoint": "checkpoint",
    "eval": "evaluation",
    "startup": "startup",
    "own work": "work",
}
_FIRST: tuple[Label, ...] = (
    "stopped",
    "finished",
    "read",
    "loader",
    "own",
    "checkpoint",
    "evaluation",
    "compile",
    "startup",
    "work",
)
"""Where several can be said of one rank, what is surest."""
_TELLS_ALONE = frozenset({"lock", "file lock", "pipe", "socket", "file"})


class Charge(msgspec.Struct, frozen=True):
    """One rank at an end, and what keeps it."""

    label: Label
    cause: Cause
    waits: JobWaits
    rank: RankFrame
    movement: Movement
    waiters: tuple[RankFrame, ...]
    overtime: bool = False
    """Its alibi is over: it takes longer than such work may, and makes no progress."""

    @property
    def job(self) -> JobFrame:
        return self.waits.job

    @property
    def seconds(self) -> float:
        """By the culprit's own state; where that is not known, for no longer than others have waited."""
        own = self.movement.seconds
        return own or self.waited_seconds

    @property
    def on(self) -> Key | None:
        """What it waits for itself, where that is no actor and no meeting: a lock, a file, a socket."""
        if self.cause.on is not None:
            return self.cause.on
        own = (edge.on for edge in self.waits.graph.out.get(rank_key(self.rank), ()))
        return next((on for on in own if on.kind not in ACTORS and on.kind != "meeting"), None)

    @property
    def waited_seconds(self) -> float:
        """For how long another one has waited for it, the longest."""
        out = self.waits.graph.out
        edges = (edge for rank in self.waiters for edge in out.get(rank_key(rank), ()))
        return max((edge.seconds for edge in edges), default=0.0)

    @property
    def kept_waiting(self) -> bool:
        """Whether anybody waits for it, for longer than a step's jitter."""
        return self.waited_seconds >= SHORTEST_SECONDS

    @property
    def joint_seconds(self) -> float:
        """For how long both witnesses agree: it stands still, and others wait for it."""
        return min(self.seconds, self.waited_seconds) if self.kept_waiting else 0.0


def charges(scene: Scene) -> Mapping[Label, tuple[Charge, ...]]:
    """All that can be said of ranks, by who speaks of it."""
    return scene.once(_charges)


def _charges(scene: Scene) -> dict[Label, tuple[Charge, ...]]:
    found: dict[Label, list[Charge]] = {}
    for waits in all_waits(scene).values():
        seen: set[int] = set()
        for charge in sorted(_of_job(waits, scene), key=lambda each: _FIRST.index(each.label)):
            if charge.rank.pid not in seen:  # one rank has one verdict at a time
                seen.add(charge.rank.pid)
                found.setdefault(charge.label, []).append(charge)
    return {label: tuple(there) for label, there in found.items()}


def _of_job(waits: JobWaits, scene: Scene) -> Iterator[Charge]:
    for cause in waits.causes:
        label = _label(cause, waits, scene)
        if label is None or not _matters(cause):
            continue
        waiters = tuple(ranks_of(cause.waiters, waits))
        for rank in ranks_of(cause.culprits or _first_in_cycle(cause, waits), waits):
            others = tuple(each for each in waiters if each.pid != rank.pid)
            movement = waits.movements[rank_key(rank)]
            charge = Charge(label, cause, waits, rank, movement, others, cause.end == "busy")
            if _counts(charge, scene):
                yield charge


def _matters(cause: Cause) -> bool:
    """A holder for whom nobody has to wait, since another one will do, is no cause."""
    return bool(cause.waiters) or all(key.kind == "rank" for key in cause.culprits)


def _first_in_cycle(cause: Cause, waits: JobWaits) -> tuple[Key, ...]:
    """Nobody is to blame for a cycle of things: it is told of one that waits for one of them."""
    out = waits.graph.out
    direct = (
        key
        for key in cause.named
        if key.kind == "rank" and any(edge.on in cause.things for edge in out.get(key, ()))
    )
    return tuple(sorted(direct)[:1]) if cause.things else ()


def _label(cause: Cause, waits: JobWaits, scene: Scene) -> Label | None:
    match cause.end:
        case "stopped" if cause.culprits[0].kind == "rank":
            return "stopped"
        case "finished":
            return "finished"
        case "working" | "busy":
            return _of_work(cause, waits)
        case "still" | "stopped":
            return _of_stillness(cause.culprits[0], cause.on, waits, scene)
        case "cycle" if cause.things:
            return "own"
        case _:
            return None


def _of_work(cause: Cause, waits: JobWaits) -> Label | None:
    node = waits.graph.nodes.get(cause.culprits[0])
    if node is None:
        return None
    if node.work in _PHASES:
        return _PHASES[node.work]
    return "own" if cause.end == "busy" and not cause.orderly else "work"


def _of_stillness(culprit: Key, on: Key | None, waits: JobWaits, scene: Scene) -> Label:
    owner = waits.owners.get(culprit, culprit)
    movement = waits.movements[owner]
    if culprit.kind == "child" and is_loading(movement.rank):
        children = living_children(movement.rank, scene)
        asleep = all(is_asleep(each, scene, SHORTEST_SECONDS) for each in children)
        return "loader" if asleep else "own"
    if on is None and owner != culprit:  # whoever holds what it waits for stands still
        on = next((edge.on for edge in waits.graph.out.get(owner, ())), None)
    if on is not None and on.kind in ("pipe", "file"):
        return "read"
    activity = movement.rank.activity
    if on is not None and on.kind == "socket" and activity and activity.wait != "poll":
        return "read"
    return "read" if activity is not None and activity.state == "D" else "own"


def _counts(charge: Charge, scene: Scene) -> bool:
    """Whether it has lasted for long enough to be told, with as many witnesses as there are."""
    if charge.label == "stopped":
        return charge.seconds >= SHORTEST_SECONDS or charge.kept_waiting
    if charge.kept_waiting:
        polls = charge.movement.polls and not rendezvous_waits(charge.waits)
        polls = polls and not charge.movement.witness.lock_file  # its program says so itself
        return not polls or charge.joint_seconds >= LOOPS_SECONDS
    return _counts_alone(charge, scene)


def _counts_alone(charge: Charge, scene: Scene) -> bool:
    """Nobody waits for it: it hangs, or has nothing to do."""
    rank, activity = charge.rank, charge.rank.activity
    if charge.cause.waiters and charge.label not in ("loader", "own", "read"):
        return False
    if charge.label not in ("loader", "own", "read") or activity is None:
        return False
    if activity.wait == "unix socket" and not killed_children(rank, scene):
        return False  # whoever gives it work may have none
    if activity.wait in ("accept", "terminal", "child"):
        return False
    overdue = proven_seconds(rank) > 0.0
    if charge.label != "loader" and not _is_hang(charge, overdue=overdue):
        return False
    if rank.step is None and activity.moved_seconds < SEEN_MOVING_SECONDS:
        return False
    return charge.seconds >= (OVERDUE_ALONE_SECONDS if overdue else ALONE_SECONDS)


def _is_hang(charge: Charge, *, overdue: bool) -> bool:
    on = charge.on
    if charge.cause.end == "busy":  # long work too is busy: only its stack tells that it is none
        return overdue and (charge.movement.witness.looked or "stack" in charge.rank.missing)
    if on is None or (on.kind not in _TELLS_ALONE and not overdue):
        return False
    if charge.rank.activity is not None and charge.rank.activity.wait == "poll":
        return False  # a server, an event loop
    if on.kind == "timer" and not charge.movement.polls:
        return overdue and charge.seconds >= ALONE_SECONDS
    witness = charge.movement.witness
    return overdue or not witness.queue or witness.left_alone or on.kind != "lock"
