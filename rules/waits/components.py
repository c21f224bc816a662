"""Where the paths of a graph end: strongly connected components without a way out."""

from __future__ import annotations

from collections.abc import Iterator

from .graph import Graph, Key


def ends(graph: Graph) -> Iterator[tuple[Key, ...]]:
    """Each end once; one key, or those of a cycle."""
    for component in _components(graph):
        inside = frozenset(component)
        out = (edge.on for key in component for edge in graph.out.get(key, ()))
        if all(on in inside for on in out):
            yield component


def _components(graph: Graph) -> list[tuple[Key, ...]]:
    """Tarjan's, without recursion: chains may be long."""
    number: dict[Key, int] = {}
    low: dict[Key, int] = {}
    stack: list[Key] = []
    open_keys: set[Key] = set()
    found: list[tuple[Key, ...]] = []
    for root in graph.every_key():
        if root in number:
            continue
        work = [(root, iter(graph.out.get(root, ())))]
        number[root] = low[root] = len(number)
        stack.append(root)
        open_keys.add(root)
        while work:
            key, edges = work[-1]
            for edge in edges:
                on = edge.on
                if on not in number:
                    number[on] = low[on] = len(number)
                    stack.append(on)
                    open_keys.add(on)
                    work.append((on, iter(graph.out.get(on, ()))))
                    break
                if on in open_keys:
                    low[key] = min(low[key], number[on])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[key])
                if low[key] == number[key]:
                    cut = stack.index(key)
                    component = tuple(stack[cut:])
                    del stack[cut:]
                    open_keys.difference_update(component)
                    found.append(component)
    return found
