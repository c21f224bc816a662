"""Distances: over PCIe from the paths of cards, over NVLink from where links lead to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..model.gpu_readings import GpuReading
from ..model.link_readings import PATH_LEVELS, PciPlace
from ..model.pci_address import normal_bus_id


class Linked(NamedTuple):
    """Two GPUs that reach each other over NVLink."""

    links: int
    through_switch: bool


def path_level(one: PciPlace, two: PciPlace) -> str | None:
    """What lies between two cards; ``None`` where that cannot be reported."""
    if not one.path or not two.path:
        return None
    if one.path[0] != two.path[0]:
        if one.numa_node is None or two.numa_node is None:
            return "SYS" if one.numa_node != two.numa_node else None
        return "NODE" if one.numa_node == two.numa_node else "SYS"
    common = 0
    for left, right in zip(one.path, two.path, strict=False):
        if left != right:
            break
        common += 1
    if common == 1:
        return "PHB"
    # Below the last bridge that they share, one port of it each is a single switch.
    return "PIX" if max(len(one.path), len(two.path)) - common <= 1 else "PXB"


def nearness(level: str) -> int:
    """Order of levels, the nearest first."""
    return PATH_LEVELS.index(level) if level in PATH_LEVELS else len(PATH_LEVELS)


def nvlink_pairs(gpus: Sequence[GpuReading]) -> dict[tuple[int, int], Linked]:
    """Index and higher index → how they are linked, for those that are."""
    pairs: dict[tuple[int, int], Linked] = {}
    direct = {gpu.index: _direct(gpu) for gpu in gpus}
    switched = {gpu.index: _switched(gpu) for gpu in gpus}
    for place, one in enumerate(gpus):
        for two in gpus[place + 1 :]:
            links = direct[one.index].get(normal_bus_id(two.pci_bus_id) or "", 0)
            if links:
                pairs[one.index, two.index] = Linked(links, through_switch=False)
                continue
            links = _over_switches(switched[one.index], switched[two.index])
            if links:
                pairs[one.index, two.index] = Linked(links, through_switch=True)
    return pairs


def groups_of(indices: Sequence[int], pairs: Mapping[tuple[int, int], object]) -> list[list[int]]:
    """GPUs that are linked to each other, directly or by way of others, in their order."""
    group_of = {index: {index} for index in indices}
    for one, two in pairs:
        if group_of[one] is not group_of[two]:
            merged = group_of[one] | group_of[two]
            for index in merged:
                group_of[index] = merged
    seen: set[int] = set()
    groups: list[list[int]] = []
    for index in sorted(indices):
        if index not in seen:
            seen |= group_of[index]
            groups.append(sorted(group_of[index]))
    return groups


def _direct(gpu: GpuReading) -> dict[str, int]:
    """Bus id of another GPU → links to it that are up."""
    counts: dict[str, int] = {}
    for link in gpu.nvlinks or ():
        bus_id = normal_bus_id(link.remote_pci_bus_id)
        if link.active and link.remote == "gpu" and bus_id is not None:
            counts[bus_id] = counts.get(bus_id, 0) + 1
    return counts


def _switched(gpu: GpuReading) -> dict[str | None, int]:
    """Bus id of a switch, where it is reported → links to it that are up."""
    counts: dict[str | None, int] = {}
    for link in gpu.nvlinks or ():
        if link.active and link.remote == "switch":
            bus_id = normal_bus_id(link.remote_pci_bus_id)
            counts[bus_id] = counts.get(bus_id, 0) + 1
    return counts


def _over_switches(one: Mapping[str | None, int], two: Mapping[str | None, int]) -> int:
    """A switch that is not named is the one that all share: a node has one fabric."""
    return sum(min(count, two[switch]) for switch, count in one.items() if switch in two)
