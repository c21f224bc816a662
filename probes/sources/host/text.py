"""The kernel's texts about the whole machine and its memory nodes, parsed.

Each parser takes any bytes and never raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..procfs.text import LARGEST, number, text

_SECTOR_BYTES = 512
"""In this file the kernel always counts in these, whatever the disk's own are."""
_DISK_FIELDS = 13
_NETWORK_FIELDS = 16
_NETWORK_USED = (0, 3, 8, 11)
"""Bytes and drops, received and sent."""
_CPU_FIELDS = 8
_PAGE_BYTES = 4096
_PROCESSOR_FIELD = 36
"""Of ``/proc/PID/stat``, counted from the state, which is field 0."""
_MOST_NODES = 1024


class CpuTicks(NamedTuple):
    """CPU time over all cores since the start, in ticks."""

    busy: int
    waiting: int
    total: int


class OneCpu(NamedTuple):
    """Time of one CPU since the start, in ticks."""

    busy: int
    interrupts: int
    total: int


class Disk(NamedTuple):
    """One line of ``/proc/diskstats``."""

    name: str
    read_bytes: int
    write_bytes: int
    busy_milliseconds: int
    requests: int
    request_milliseconds: int
    queue_milliseconds: int | None
    """Of kernels that tell it."""


class Network(NamedTuple):
    """One line of ``/proc/net/dev``."""

    name: str
    rx_bytes: int
    rx_dropped: int
    tx_bytes: int
    tx_dropped: int


def parse_cpu(stat: bytes) -> CpuTicks | None:
    """Out of the first line of ``/proc/stat``. Time of guests is part of the user time there."""
    words = stat.partition(b"\n")[0].split()
    if not words or words[0] != b"cpu":
        return None
    ticks = [number(word) for word in words[1 : 1 + _CPU_FIELDS]]
    known = [tick for tick in ticks if tick is not None]
    if len(known) < 5 or len(known) != len(ticks):
        return None
    idle, waiting = known[3], known[4]
    total = sum(known)
    return CpuTicks(total - idle - waiting, waiting, total)


def parse_cpus(stat: bytes) -> dict[int, OneCpu]:
    """Each CPU of ``/proc/stat`` that is on."""
    found: dict[int, OneCpu] = {}
    for line in stat.split(b"\n"):
        words = line.split()
        if not words or not words[0].startswith(b"cpu"):
            break  # they come first
        which = number(words[0][3:])
        ticks = [number(word) for word in words[1 : 1 + _CPU_FIELDS]]
        known = [tick for tick in ticks if tick is not None]
        if which is None or len(known) < _CPU_FIELDS - 1 or len(known) != len(ticks):
            continue
        total = sum(known)
        found[which] = OneCpu(total - known[3] - known[4], known[5] + known[6], total)
    return found


def parse_load(data: bytes) -> tuple[float, float, float] | None:
    """The three averages of ``/proc/loadavg``."""
    try:
        one, five, fifteen = (float(word) for word in data.split()[:3])
    except ValueError:
        return None
    loads = (one, five, fifteen)
    return loads if all(0 <= load < 1e9 for load in loads) else None


def parse_pressure(data: bytes) -> tuple[float | None, float | None]:
    """Seconds in which some, and in which all, tasks waited."""
    return _pressure(data, b"some "), _pressure(data, b"full ")


def parse_disks(data: bytes) -> list[Disk]:
    """All block devices, partitions included."""
    disks: list[Disk] = []
    for line in data.split(b"\n"):
        words = line.split()
        if len(words) < _DISK_FIELDS:
            continue
        disk = _disk(words)
        if disk is not None and max(value or 0 for value in disk[1:]) < 2**63:
            disks.append(disk)
    return disks


def _disk(words: Sequence[bytes]) -> Disk | None:
    read, written, busy = number(words[5]), number(words[9]), number(words[12])
    reads, writes = number(words[3]), number(words[7])
    read_time, write_time = number(words[6]), number(words[10])
    if None in (read, written, busy, reads, writes, read_time, write_time):
        return None
    return Disk(
        name=text(words[2]),
        read_bytes=(read or 0) * _SECTOR_BYTES,
        write_bytes=(written or 0) * _SECTOR_BYTES,
        busy_milliseconds=busy or 0,
        requests=(reads or 0) + (writes or 0),
        request_milliseconds=(read_time or 0) + (write_time or 0),
        queue_milliseconds=number(words[13]) if len(words) > _DISK_FIELDS else None,
    )


def parse_networks(data: bytes) -> list[Network]:
    """All interfaces, the loopback included."""
    networks: list[Network] = []
    for line in data.split(b"\n"):
        # An alias has a colon in its name.
        name, colon, rest = line.rpartition(b":")
        words = rest.split()
        if not colon or len(words) < _NETWORK_FIELDS:
            continue
        rx, rx_dropped, tx, tx_dropped = (number(words[at]) for at in _NETWORK_USED)
        if rx is not None and tx is not None:
            networks.append(Network(text(name.strip()), rx, rx_dropped or 0, tx, tx_dropped or 0))
    return networks


def parse_tcp(data: bytes) -> tuple[int | None, int | None]:
    """Segments sent and sent again, out of ``/proc/net/snmp``: a line of names, a line of numbers."""
    rows = [line.split() for line in data.split(b"\n") if line.startswith(b"Tcp: ")]
    if len(rows) < 2 or len(rows[0]) != len(rows[1]):
        return None, None
    values = dict(zip(*rows[:2], strict=True))
    return number(values.get(b"OutSegs", b"")), number(values.get(b"RetransSegs", b""))


def _pressure(data: bytes, kind: bytes) -> float | None:
    for line in data.split(b"\n"):
        if line.startswith(kind):
            total = number(line.rpartition(b"total=")[2].strip())
            return None if total is None else total / 1e6
    return None


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
