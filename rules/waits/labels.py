"""Which kind of sink stands at an end, so which rule speaks of it: each has its own cause, and one finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..rule import Scene
from .build import JobWaits, all_waits, is_loading, ranks_of
from .charge import Charge, Label
from .graph import Key
from .holders import is_asleep
from .lasting import has_lasted
from .motion import SHORTEST_SECONDS, proven_seconds
from .programs import living_below
from .ranks import rank_key
from .verdict import Cause

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
            if has_lasted(charge, scene):
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
        case "stopped" if _is_told_as_stopped(cause.culprits[0], waits):
            return "stopped"
        case "finished":
            return "finished"
        case "working" | "busy":
            return _of_work(cause, waits)
        case "still" | "stopped":
            return _of_stillness(cause.culprits[0], cause.on, waits, scene)
        case "idle" if not cause.orderly and _is_needed(cause, waits):
            return "own"
        case "cycle" if cause.things:
            return "own"
        case _:
            return None


def _is_needed(cause: Cause, waits: JobWaits) -> bool:
    """It stands at a prompt; or it waits for requests, as a server's first rank does while the others wait for
    its next broadcast, but has trained until then: its step is overdue."""
    found = waits.movements.get(cause.culprits[0])
    if found is None:
        return False
    overdue = found.rank.step is not None and proven_seconds(found.rank) > 0.0
    return found.witness.prompt or (bool(cause.waiters) and overdue)


def _is_told_as_stopped(culprit: Key, waits: JobWaits) -> bool:
    """The rank itself, or a child of it; of those that load its data their own rule tells."""
    if culprit.kind == "rank":
        return True
    owner = waits.owners.get(culprit)
    if owner is None or is_loading(waits.movements[owner].rank):
        return False
    out = waits.graph.out.get(owner, ())
    return any(edge.on == culprit or edge.on.kind == "program" for edge in out)


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
        children = living_below(movement.rank, scene)
        asleep = all(is_asleep(each, scene, SHORTEST_SECONDS) for each in children)
        return "loader" if asleep else "own"
    if on is None and owner != culprit:  # whoever holds what it waits for stands still
        on = next((edge.on for edge in waits.graph.out.get(owner, ())), None)
    if on is not None and on.kind in ("pipe", "file"):
        return "read"
    activity = movement.rank.activity
    polls = activity is None or activity.wait == "poll"
    if on is not None and on.kind == "socket" and (not polls or movement.witness.downloads):
        return "read"
    return "read" if activity is not None and activity.state == "D" else "own"
