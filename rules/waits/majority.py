"""Which of several meetings that wait for each other's members is the right one, and who is odd.

Only those vote who belong to all of these meetings: who belongs to one alone had no choice. More than half
decides, whether the others have made more calls or fewer. A tie names both and blames nobody.
"""

from __future__ import annotations

from collections.abc import Iterable

from .graph import Graph, Key


def odd_ones(graph: Graph, meetings: Iterable[Key]) -> tuple[Key, ...]:
    """Those who wait in another meeting than most; empty where there is no majority."""
    waiting = {
        meeting: [edge.waiter for edge in graph.into.get(meeting, ())] for meeting in meetings
    }
    voters = _voters(graph, waiting)
    votes = {
        meeting: [each for each in there if each in voters] for meeting, there in waiting.items()
    }
    total = sum(map(len, votes.values()))
    right = max(votes, key=lambda meeting: len(votes[meeting]))
    if 2 * len(votes[right]) <= total:
        return ()
    return tuple(each for meeting, there in votes.items() if meeting != right for each in there)


def _voters(graph: Graph, meetings: Iterable[Key]) -> frozenset[Key]:
    nobody: frozenset[Key] = frozenset()
    first, *others = [graph.members.get(meeting, nobody) for meeting in meetings]
    return first.intersection(*others)
