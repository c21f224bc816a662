"""What stands at the ends of the graph's paths: the causes of standing still, each with whoever waits for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from .components import ends
from .graph import ACTORS, Edge, Graph, Key, Node
from .majority import odd_ones

End = Literal[
    "still",
    "busy",
    "working",
    "starved",
    "stopped",
    "ended",
    "finished",
    "idle",
    "mismatch",
    "cycle",
    "all arrived",
    "unknown",
]
"""``busy``: without progress for longer than it may. ``working``: an alibi, for as long as it lasts.
``mismatch``: some of a meeting never reach it, for they wait in another."""


class Cause(msgspec.Struct, frozen=True):
    """One end of paths."""

    end: End
    culprits: tuple[Key, ...]
    """Whoever stands there; of a mismatch the odd ones, of a cycle nobody."""
    named: tuple[Key, ...]
    """All who take part: more than the culprits where nobody is to blame alone."""
    on: Key | None = None
    """What the culprit waits for, where that is no actor: a lock, a file, a socket."""
    things: tuple[Key, ...] = ()
    """Of a cycle: the locks, pipes and the like that it goes through; none: it is of meetings alone."""
    waiters: tuple[Key, ...] = ()
    """Actors that wait for it, near or far."""
    seconds: float = 0.0
    """By the culprit's own state."""
    waited_seconds: float = 0.0
    """Of the one that has waited longest."""
    strength: float = 1.0
    orderly: bool = False
    """All wait where work of one rank alone is expected."""


def causes(graph: Graph) -> tuple[Cause, ...]:
    """All ends of the graph."""
    return tuple(cause for end in ends(graph) for cause in _of(end, graph))


def _of(end: Sequence[Key], graph: Graph) -> Iterator[Cause]:
    if len(end) > 1 or _waits_for_itself(end[0], graph):
        yield _knot(end, graph)
        return
    key = end[0]
    if key.kind == "meeting":
        yield _meeting(key, graph)
    elif key.kind in ACTORS:
        node = graph.nodes.get(key, Node(key, "unknown"))
        yield _caused(_end_of(node, _reached(graph, (key,))), node, None, graph)
    else:
        yield from _by_resource(key, graph)


def _waits_for_itself(key: Key, graph: Graph) -> bool:
    return any(edge.on == key for edge in graph.out.get(key, ()))


def _end_of(node: Node, waiting: Sequence[Edge]) -> End:
    if node.motion == "progress":
        return "working"
    if node.motion == "busy":
        return "busy" if node.seconds > _alibi(node, waiting) else "working"
    return node.motion


def _alibi(node: Node, waiting: Sequence[Edge]) -> float:
    """Where all wait in an orderly way, one may work for as long as any long work."""
    if waiting and all(edge.orderly for edge in waiting):
        return max(node.alibi_seconds, Node(node.key).alibi_seconds)
    return node.alibi_seconds


def _by_resource(key: Key, graph: Graph) -> Iterator[Cause]:
    """Whoever waits for a thing that nobody is seen to hold stands there itself."""
    for edge in graph.into.get(key, ()):
        node = graph.nodes.get(edge.waiter)
        if node is None or node.key.kind not in ACTORS:
            continue
        end = (
            "idle"
            if key.kind in ("requests", "terminal")
            else _end_of(node, _reached(graph, (node.key,)))
        )
        yield _caused(end, node, edge, graph)


def _caused(end: End, node: Node, edge: Edge | None, graph: Graph) -> Cause:
    waiting = _reached(graph, (node.key,))
    strengths = [node.strength, *([edge.strength] if edge else [])]
    return Cause(
        end=end,
        culprits=(node.key,),
        named=(node.key,),
        on=edge.on if edge else None,
        waiters=_actors(graph, (node.key,)),
        seconds=node.seconds,
        waited_seconds=max((each.seconds for each in waiting), default=0.0),
        strength=min(strengths),
        orderly=bool(waiting) and all(each.orderly for each in waiting),
    )


def _meeting(key: Key, graph: Graph) -> Cause:
    there = graph.into.get(key, ())
    return Cause(
        end="all arrived",
        culprits=(),
        named=tuple(edge.waiter for edge in there),
        on=key,
        waiters=_actors(graph, (key,)),
        seconds=min((edge.seconds for edge in there), default=0.0),
        waited_seconds=max((edge.seconds for edge in there), default=0.0),
        strength=min((edge.strength for edge in there), default=1.0),
        orderly=bool(there) and all(edge.orderly for edge in there),
    )


def _knot(end: Sequence[Key], graph: Graph) -> Cause:
    inside = frozenset(end)
    meetings = [key for key in end if key.kind == "meeting"]
    actors = tuple(key for key in end if key.kind in ACTORS)
    edges = [edge for key in actors for edge in graph.out.get(key, ()) if edge.on in inside]
    direct = any(edge.on.kind != "meeting" for edge in edges)
    same_group = len({graph.members.get(key) for key in meetings}) == 1
    odd = odd_ones(graph, meetings) if len(meetings) > 1 and not direct else ()
    mismatch = bool(odd) or (len(meetings) > 1 and same_group and not direct)
    return Cause(
        end="mismatch" if mismatch else "cycle",
        culprits=odd,
        named=actors,
        things=tuple(key for key in end if key.kind not in ACTORS and key.kind != "meeting"),
        waiters=tuple(key for key in (*actors, *_actors(graph, end)) if key not in odd),
        seconds=min((edge.seconds for edge in edges), default=0.0),
        waited_seconds=max((edge.seconds for edge in edges), default=0.0),
        strength=min((edge.strength for edge in edges), default=1.0),
    )


def _reached(graph: Graph, ends_at: Sequence[Key]) -> list[Edge]:
    """The edges of actors on the paths that lead there."""
    return [
        edge
        for key in graph.before(ends_at)
        if key.kind in ACTORS
        for edge in graph.out.get(key, ())
    ]


def _actors(graph: Graph, ends_at: Sequence[Key]) -> tuple[Key, ...]:
    return tuple(sorted(key for key in graph.before(ends_at) if key.kind in ACTORS))
