"""Graphs written as tables, and where each path of theirs ends; beside each shape its near miss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gputop.rules.waits.graph import ACTORS, Edge, Graph, Key, Node
from gputop.rules.waits.verdict import Cause, causes

KINDS = {"r": "rank", "c": "child", "t": "thread", "p": "process", "M": "meeting"}
MINUTE = 60.0


def key(name: str) -> Key:
    """``r3`` is rank 3, ``M1`` a meeting; ``lock:a`` is a thing of that kind."""
    kind, colon, _ = name.partition(":")
    return Key(kind if colon else KINDS[name[0]], name)  # type: ignore[arg-type]


def graph(table: str, members: Mapping[str, str] | None = None, **nodes: Any) -> Graph:
    """From lines ``WAITER MOTION SECONDS: THINGS IT WAITS FOR``; a meeting has neither motion nor time."""
    edges: list[Edge] = []
    known: dict[Key, Node] = {}
    for line in filter(None, map(str.strip, table.splitlines())):
        before, _, targets = line.partition(" -> ")
        name, *how = before.split()
        seconds = float(how[1]) if len(how) > 1 else MINUTE
        if how:
            known[key(name)] = Node(key(name), how[0], seconds, **nodes.get(name, {}))  # type: ignore[arg-type]
        edges += [Edge(key(name), key(target), seconds) for target in targets.split()]
    groups = {key(name): frozenset(map(key, who.split())) for name, who in (members or {}).items()}
    return Graph(known, tuple(edges), groups)


def ends(found: Graph) -> set[tuple[str, str]]:
    """Kind of each end and the names of those to blame, or of all that take part."""
    return {
        (cause.end, " ".join(sorted(each.id for each in cause.culprits or cause.named)))
        for cause in causes(found)
    }


def one(found: Graph) -> Cause:
    (cause,) = causes(found)
    return cause


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        # A chain to a still end, and to one that stands in a thing.
        ("r0 still -> M1\n M1 -> r1\n r1 still", {("still", "r1")}),
        ("r0 still -> M1\n M1 -> r1\n r1 still -> pipe:x", {("still", "r1")}),
        ("r0 still -> M1\n M1 -> r1\n r1 still -> c1\n c1 still -> lock:a", {("still", "c1")}),
        # Two that keep all waiting are both told.
        (
            "r0 still -> M1\n M1 -> r1 r2\n r1 still\n r2 still -> lock:a",
            {("still", "r1"), ("still", "r2")},
        ),
        # An alibi with progress has no limit, and whoever makes progress waits for nobody.
        ("r0 still -> M1\n M1 -> r1\n r1 progress 5000", {("working", "r1")}),
        ("r0 still -> M1\n M1 -> r1\n r1 progress -> pipe:x", {("working", "r1")}),
        # One without progress has a limit.
        ("r0 still -> M1\n M1 -> r1\n r1 busy 599", {("working", "r1")}),
        ("r0 still -> M1\n M1 -> r1\n r1 busy 601", {("busy", "r1")}),
        # A cycle: all are named, nobody is blamed.
        (
            "t1 still -> lock:a\n lock:a -> t2\n t2 still -> lock:b\n lock:b -> t1",
            {("cycle", "t1 t2")},
        ),
        ("t1 still -> lock:a\n lock:a -> t2\n t2 still -> lock:b", {("still", "t2")}),
        ("r0 still -> r0", {("cycle", "r0")}),
        # Through a lock that a waiting rank holds, though the others are in a meeting.
        (
            "r0 still -> M1\n M1 -> r1\n r1 still -> lock:a\n lock:a -> r0",
            {("cycle", "r0 r1")},
        ),
        # A holder that stands still, works, or of whom nothing is known.
        ("r0 still -> lock:a\n lock:a -> p1\n p1 still", {("still", "p1")}),
        ("r0 still -> lock:a\n lock:a -> p1\n p1 busy 9", {("working", "p1")}),
        ("r0 still -> lock:a\n lock:a -> p1\n p1 progress", {("working", "p1")}),
        ("r0 still -> lock:a", {("still", "r0")}),
        # Two that wait for the same lock have one cause.
        ("r0 still -> lock:a\n r1 still -> lock:a\n lock:a -> p1\n p1 still", {("still", "p1")}),
        # A meeting that all have reached; not so where one has not.
        ("r0 still -> M1\n r1 still -> M1", {("all arrived", "r0 r1")}),
        ("r0 still -> M1\n r1 still -> M1\n M1 -> r2\n r2 still", {("still", "r2")}),
        # One that never comes: ended, finished, stopped.
        ("r0 still -> M1\n M1 -> r1\n r1 ended", {("ended", "r1")}),
        ("r0 still -> M1\n M1 -> r1\n r1 finished -> lock:a", {("finished", "r1")}),
        ("r0 still -> M1\n M1 -> r1\n r1 stopped -> pipe:x", {("stopped", "r1")}),
        # No edge at all.
        ("r0 still", {("still", "r0")}),
        # Who has nothing to do is never to blame, nor is who can not be seen.
        ("r0 still -> requests:accept", {("idle", "r0")}),
        ("r0 still -> p1\n p1 idle", {("idle", "p1")}),
        ("r0 still -> M1\n M1 -> r1\n r1 unknown", {("unknown", "r1")}),
        # Starved is not still.
        ("r0 still -> M1\n M1 -> r1\n r1 starved", {("starved", "r1")}),
    ],
)
def test_where_paths_end(table: str, expected: set[tuple[str, str]]) -> None:
    assert ends(graph(table)) == expected


ALL = "r0 r1 r2"


@pytest.mark.parametrize(
    ("table", "members", "expected"),
    [
        # The odd one is who is not with most, whether it made more calls or fewer.
        (
            "r0 still -> M1\n r2 still -> M1\n M1 -> r1\n r1 still -> M2\n M2 -> r0 r2",
            {"M1": ALL, "M2": ALL},
            {("mismatch", "r1")},
        ),
        # A tie names both.
        (
            "r0 still -> M1\n M1 -> r1\n r1 still -> M2\n M2 -> r0",
            {"M1": "r0 r1", "M2": "r0 r1"},
            {("mismatch", "r0 r1")},
        ),
        # Two groups in opposite order: who belongs to one of them alone has no vote.
        (
            "r0 still -> M1\n M1 -> r1\n r1 still -> M2\n r2 still -> M2\n M2 -> r0",
            {"M1": "r0 r1", "M2": ALL},
            {("cycle", "r0 r1")},
        ),
        # While another rank keeps both meetings waiting, it is the cause.
        (
            "r0 still -> M1\n M1 -> r1 r2\n r1 still -> M2\n M2 -> r0 r2\n r2 still -> socket:x",
            {"M1": ALL, "M2": ALL},
            {("still", "r2")},
        ),
    ],
)
def test_meetings_that_wait_for_each_other(
    table: str, members: Mapping[str, str], expected: set[tuple[str, str]]
) -> None:
    assert ends(graph(table, members)) == expected


def test_a_majority_is_more_than_half() -> None:
    table = "\n".join(
        [f"r{rank} still -> M1" for rank in range(5)]
        + [f"r{rank} still -> M2" for rank in range(5, 8)]
        + ["M1 -> r5 r6 r7", "M2 -> r0 r1 r2 r3 r4"]
    )
    everybody = " ".join(f"r{rank}" for rank in range(8))
    found = one(graph(table, {"M1": everybody, "M2": everybody}))
    assert (found.end, {each.id for each in found.culprits}) == ("mismatch", {"r5", "r6", "r7"})
    assert {each.id for each in found.waiters} == {f"r{rank}" for rank in range(5)}


@pytest.mark.parametrize(("motion", "expected"), [("busy", "working"), ("still", "still")])
def test_of_several_polled_one_that_moves_is_an_alibi(motion: str, expected: str) -> None:
    table = f"r0 still -> c1 c2\n c1 still\n c2 {motion}"
    polls = graph(table, r0={"any_of": True})
    told = {cause.end for cause in causes(polls) if Key("rank", "r0") in cause.waiters}
    assert told == {expected}
    waits_for_all = {cause.end for cause in causes(graph(table)) if cause.waiters}
    assert "still" in waits_for_all


def test_where_all_wait_in_an_orderly_way_work_may_take_long() -> None:
    table = "r0 still 30 -> M1\n M1 -> r1\n r1 busy 30"
    plain = graph(table, r1={"alibi_seconds": 3.0})
    assert one(plain).end == "busy"
    orderly = Graph(
        plain.nodes,
        tuple(edge._replace(orderly=edge.waiter.kind in ACTORS) for edge in plain.edges),
    )
    assert (one(orderly).end, one(orderly).orderly) == ("working", True)
    still = Graph({**orderly.nodes, key("r1"): Node(key("r1"), "still", 30.0)}, orderly.edges)
    assert one(still).end == "still", "until it stops moving"


def test_a_cause_is_as_old_as_the_culprits_own_state() -> None:
    cause = one(graph("r0 still 300 -> M1\n r2 still 20 -> M1\n M1 -> r1\n r1 still 8 -> lock:a"))
    assert (cause.seconds, cause.waited_seconds) == (8.0, 300.0)
    assert cause.on == key("lock:a")
    assert {each.id for each in cause.waiters} == {"r0", "r2"}


def test_the_weakest_witness_counts() -> None:
    found = graph("r0 still -> pipe:x", r0={"strength": 0.9})
    weak = Graph(found.nodes, tuple(edge._replace(strength=0.5) for edge in found.edges))
    assert (one(found).strength, one(weak).strength) == (0.9, 0.5)


def test_paths_lead_one_way() -> None:
    found = graph("r0 still -> M1\n M1 -> r1\n r1 still -> socket:x\n r2 progress -> socket:x")
    assert found.leads_to(key("r0"), key("socket:x"))
    assert not found.leads_to(key("socket:x"), key("r0"))
    assert not found.leads_to(key("r2"), key("socket:x")), "it makes progress"


def test_a_long_chain_is_followed() -> None:
    table = "\n".join(f"p{number} still -> p{number + 1}" for number in range(3000))
    assert ends(graph(table + "\np3000 still")) == {("still", "p3000")}


def test_of_a_pipe_any_writer_is_enough_and_of_a_lock_all_holders_must_let_go() -> None:
    table = "r0 still -> {on}\n{on} still -> c1 c2\n c1 still\n c2 busy 9"
    piped = graph(table.format(on="pipe:a"), None, **{"pipe:a": {"any_of": True}})
    assert ("working", "c2") in ends(piped)
    (cause,) = [each for each in causes(piped) if each.waiters]
    assert cause.end == "working"
    locked = graph(table.format(on="lock:a"))
    assert {each.end for each in causes(locked) if each.waiters} == {"still", "working"}


def test_a_cycle_says_through_what_things_it_goes() -> None:
    through = one(graph("r0 still -> lock:a\n lock:a -> r1\n r1 still -> pipe:b\n pipe:b -> r0"))
    assert {each.id for each in through.things} == {"lock:a", "pipe:b"}
    meetings = graph(
        "r0 still -> M1\n M1 -> r1\n r1 still -> M2\n r2 still -> M2\n M2 -> r0",
        {"M1": "r0 r1", "M2": "r0 r1 r2"},
    )
    assert one(meetings).things == ()
