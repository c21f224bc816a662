"""Nodes, what moves them, and the edges "waits for" between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Literal, NamedTuple

import msgspec

Kind = Literal[
    "rank",
    "thread",
    "child",
    "process",
    "meeting",
    "gpu",
    "file",
    "file lock",
    "lock",
    "pipe",
    "socket",
    "timer",
    "terminal",
    "program",
    "signal",
    "requests",
    "kernel",
]
"""``rank`` is its main thread. ``requests``: whatever a server, an actor or a prompt is given to do."""
Motion = Literal[
    "progress", "busy", "still", "starved", "unknown", "idle", "stopped", "ended", "finished"
]
"""``progress``: steps, bytes. ``busy``: CPU or GPU alone, an alibi with a limit. ``idle``: it waits to be
given work. ``finished``: its program is through, and its process is still there."""
ACTORS: frozenset[Kind] = frozenset({"rank", "thread", "child", "process"})
"""Whoever can be blamed; all else is what they wait for."""
_WAITS_FOR_NOBODY: frozenset[Motion] = frozenset({"progress", "stopped", "ended", "finished"})
_MAY_COME: frozenset[Motion] = frozenset({"progress", "busy", "idle", "unknown"})
DEFAULT_ALIBI_SECONDS = 600.0
"""So long may work be busy without progress where the job's own past says nothing: by then
PyTorch's collectives have timed out."""


class Key(NamedTuple):
    """Names a node."""

    kind: Kind
    id: str


class Node(msgspec.Struct, frozen=True):
    """Somebody or something in the graph."""

    key: Key
    motion: Motion = "still"
    seconds: float = 0.0
    """For how long it has been so, by its own state."""
    alibi_seconds: float = DEFAULT_ALIBI_SECONDS
    """For how long it may be busy without progress."""
    work: str = ""
    """What it does that takes long by its nature; empty: nothing of the kind is known."""
    strength: float = 1.0
    """How sure its motion and its time are."""
    any_of: bool = False
    """It waits for any of what its edges lead to, as poll does; else for all."""


class Edge(NamedTuple):
    """The one waits for the other."""

    waiter: Key
    on: Key
    seconds: float = 0.0
    strength: float = 1.0
    witness: str = ""
    """Who says so: page, stack, wait channel, GPU…"""
    orderly: bool = False
    """It waits where work of one rank alone is expected: a barrier, ``main_process_first``, a rendezvous."""


class Graph(msgspec.Struct, frozen=True, dict=True):
    """Who waits for whom at one moment."""

    nodes: Mapping[Key, Node]
    edges: tuple[Edge, ...]
    members: Mapping[Key, frozenset[Key]] = {}
    """Meeting → all that belong to it, arrived or not."""

    @cached_property
    def out(self) -> Mapping[Key, tuple[Edge, ...]]:
        """Node → its edges. One that makes progress waits for nobody, whatever it holds."""
        found: dict[Key, list[Edge]] = {}
        for edge in self.edges:
            waiter = self.nodes.get(edge.waiter)
            if waiter is None or waiter.motion not in _WAITS_FOR_NOBODY:
                found.setdefault(edge.waiter, []).append(edge)
        return {key: tuple(self._needed(key, edges)) for key, edges in found.items()}

    def _needed(self, key: Key, edges: list[Edge]) -> list[Edge]:
        """Of whoever waits for any of several: those that may still come, where there are some."""
        node = self.nodes.get(key)
        if node is None or not node.any_of:
            return edges
        return [edge for edge in edges if self._may_come(edge.on)] or edges

    def _may_come(self, key: Key) -> bool:
        node = self.nodes.get(key)
        return node is not None and key.kind in ACTORS and node.motion in _MAY_COME

    @cached_property
    def into(self) -> Mapping[Key, tuple[Edge, ...]]:
        """Node → the edges that lead to it."""
        found: dict[Key, list[Edge]] = {}
        for edges in self.out.values():
            for edge in edges:
                found.setdefault(edge.on, []).append(edge)
        return {key: tuple(edges) for key, edges in found.items()}

    def every_key(self) -> Iterator[Key]:
        """All nodes, also such as only edges name."""
        yield from dict.fromkeys(
            [*self.nodes, *(key for edge in self.edges for key in (edge.waiter, edge.on))]
        )

    def before(self, ends: Iterable[Key]) -> frozenset[Key]:
        """All from which a path leads to one of these, without them."""
        ends = frozenset(ends)
        found: set[Key] = set()
        ahead = list(ends)
        while ahead:
            for edge in self.into.get(ahead.pop(), ()):
                if edge.waiter not in found and edge.waiter not in ends:
                    found.add(edge.waiter)
                    ahead.append(edge.waiter)
        return frozenset(found)

    def leads_to(self, start: Key, goal: Key) -> bool:
        """Whether the one waits for the other, near or far."""
        return start != goal and start in self.before([goal])
