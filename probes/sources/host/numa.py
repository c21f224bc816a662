"""Where the processes on GPUs may run, run, and have their memory, on hosts with several memory nodes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ...model.link_readings import PlacementReading
from ...model.reading import key_of
from ..context import Context
from ..procfs.files import read_file
from ..procfs.text import number, parse_cpu_list, parse_stat, parse_status
from ..protocol import SourceAbsent, SourceUnsupported
from ..watchlist import Watchlist
from .text import nodes_of_cpus, parse_numa_maps, parse_running_cpu

_ROUND_SECONDS = 5.0
"""Where processes run is worth knowing now and then: that often all of them are looked at."""
_COUNT_SECONDS = 600.0
"""Between two counts of the pages of one process: the kernel holds its address space meanwhile."""
_MAPS_BYTES = 1 << 20
_NODES_FOLDER = "sys/devices/system/node"
_MOST_PROCESSES = 64
_ASLEEP = "it is in uninterruptible sleep, and counting its pages could hang"


class _Count(NamedTuple):
    """The memory of one process as last counted."""

    at: float
    memory: dict[int, int] | None
    reason: str = ""


class NumaSource:
    """Reads the placement of the watched processes.

    Args:
        watchlist: whose.
        root: of the file system with ``proc`` and ``sys`` in it.
        clock: monotonic seconds.
    """

    name = "numa"
    rest_seconds = _ROUND_SECONDS

    def __init__(
        self,
        watchlist: Watchlist,
        root: Path = Path("/"),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._watchlist = watchlist
        self._root = root
        self._clock = clock
        self._nodes: dict[int, frozenset[int]] | None = None
        self._counts: dict[tuple[int, float], _Count] = {}

    def read(self) -> tuple[PlacementReading, ...]:
        """The processes as they are now; called once a round.

        Raises:
            SourceAbsent: this host tells of no memory nodes.
            SourceUnsupported: it has one, so everything is on the right one.
        """
        if self._nodes is None:
            self._nodes = self._find_nodes()
        if not self._nodes:
            raise SourceAbsent("this machine tells of no memory nodes")
        if len(self._nodes) == 1:
            raise SourceUnsupported("there is one memory node only: nothing can be misplaced")
        pids = sorted(self._watchlist.pids())[:_MOST_PROCESSES]
        return self._look(pids, self._nodes, self._clock())

    def close(self) -> None:
        """Nothing is held."""

    def _find_nodes(self) -> dict[int, frozenset[int]]:
        nodes: dict[int, frozenset[int]] = {}
        try:
            folders = list((self._root / _NODES_FOLDER).iterdir())
        except OSError:
            return nodes
        for folder in folders:
            node = number(folder.name.removeprefix("node").encode())
            if node is None:
                continue
            try:
                cpus = parse_cpu_list(read_file(folder / "cpulist"))
            except OSError:
                continue
            if cpus:  # a node of memory alone is nowhere to run
                nodes[node] = cpus
        return nodes

    def _look(
        self, pids: list[int], nodes: dict[int, frozenset[int]], now: float
    ) -> tuple[PlacementReading, ...]:
        readings: list[PlacementReading] = []
        counted = False
        for pid in pids:
            try:
                stat = read_file(self._root / "proc" / str(pid) / "stat")
                status = read_file(self._root / "proc" / str(pid) / "status")
            except OSError:
                continue  # it has ended
            parsed = parse_stat(stat)
            if parsed is None:
                continue
            key = (pid, parsed.start_time_seconds)
            count = self._counts.get(key)
            if not counted and (count is None or now - count.at >= _COUNT_SECONDS):
                # One a round, so that the jobs are not all held up at once.
                counted = True
                count = self._counts[key] = self._count(pid, parsed.state, now)
            readings.append(_reading(key, stat, status, nodes, count, now))
        alive = {key_of(reading) for reading in readings}
        self._counts = {key: count for key, count in self._counts.items() if key in alive}
        return tuple(readings)

    def _count(self, pid: int, state: str, now: float) -> _Count:
        if state == "D":
            return _Count(now - _COUNT_SECONDS + _ROUND_SECONDS, None, _ASLEEP)
        try:
            data = read_file(self._root / "proc" / str(pid) / "numa_maps", _MAPS_BYTES)
        except FileNotFoundError:
            return _Count(now, None, "this kernel does not tell")
        except PermissionError:
            return _Count(now, None, "belongs to another user: run gputop as that user or root")
        except OSError as error:
            return _Count(now, None, f"the kernel says: {error.strerror}")
        memory = parse_numa_maps(data)
        return _Count(now, memory, "" if memory else "the kernel counts no pages of it")


def _reading(
    key: tuple[int, float],
    stat: bytes,
    status: bytes,
    nodes: dict[int, frozenset[int]],
    count: _Count | None,
    now: float,
) -> PlacementReading:
    allowed = parse_status(status).allowed_cpus
    missing: dict[str, str] = {}
    if allowed is None:
        missing["cpus"] = "not reported by the kernel"
    running = parse_running_cpu(stat)
    here = nodes_of_cpus((running,), nodes) if running is not None else ()
    if not here:
        missing["running_node"] = "not reported by the kernel"
    memory = count.memory if count else None
    if memory is None:
        missing["memory_bytes"] = count.reason if count else "not counted yet"
    return PlacementReading(
        monotonic_seconds=now,
        pid=key[0],
        start_time_seconds=key[1],
        cpus=None if allowed is None else cpu_ranges(allowed),
        allowed_nodes=nodes_of_cpus(allowed or (), nodes),
        running_node=here[0] if here else None,
        memory_bytes=memory,
        missing=missing,
    )


def cpu_ranges(cpus: frozenset[int]) -> str:
    """``0-3,8``, the shortest list of these numbers."""
    parts: list[str] = []
    first = last = -2
    for cpu in [*sorted(cpus), -2]:
        if cpu == last + 1:
            last = cpu
            continue
        if first >= 0:
            parts.append(str(first) if first == last else f"{first}-{last}")
        first = last = cpu
    return ",".join(parts)


def make(context: Context) -> NumaSource:
    """For the registry."""
    return NumaSource(context.watchlist)
