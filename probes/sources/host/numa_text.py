"""The kernel's texts about memory nodes, parsed. Each parser takes any bytes and never raises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..procfs.text import LARGEST, number

_PAGE_BYTES = 4096
_PROCESSOR_FIELD = 36
"""Of ``/proc/PID/stat``, counted from the state, which is field 0."""
_MOST_NODES = 1024


def parse_numa_maps(data: bytes) -> dict[int, int] | None:
    """Node → bytes, over all mappings of ``/proc/PID/numa_maps``; ``None`` where it tells of none.

    Each line counts pages as ``N0=12 N1=3`` and may tell how large they are.
    """
    found: dict[int, int] = {}
    for line in data.split(b"\n"):
        words = line.split()
        size = _PAGE_BYTES
        counts: list[tuple[int, int]] = []
        for word in words[2:]:
            name, equals, value = word.partition(b"=")
            if not equals:
                continue
            if name == b"kernelpagesize_kB":
                size = 1024 * (number(value) or _PAGE_BYTES // 1024)
            elif name[:1] == b"N":
                node, pages = number(name[1:]), number(value)
                if node is not None and pages is not None and node < _MOST_NODES:
                    counts.append((node, pages))
        for node, pages in counts:
            found[node] = found.get(node, 0) + pages * size
    return {node: size for node, size in found.items() if size <= LARGEST} or None


def parse_running_cpu(stat: bytes) -> int | None:
    """The CPU that the main thread ran on last, out of ``/proc/PID/stat``."""
    fields = stat[stat.rfind(b")") + 1 :].split()
    return number(fields[_PROCESSOR_FIELD]) if len(fields) > _PROCESSOR_FIELD else None


def nodes_of_cpus(cpus: Iterable[int], nodes: Mapping[int, frozenset[int]]) -> tuple[int, ...]:
    """The memory nodes that these CPUs belong to.

    Args:
        cpus: their numbers.
        nodes: node → its CPUs.
    """
    wanted = frozenset(cpus)
    return tuple(node for node, own in sorted(nodes.items()) if own & wanted)
