"""The node's shape out of what sysfs, the driver and the NVLinks tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase

from ..model.gpu_readings import GpuReading
from ..model.link_readings import PEER_OK, PciPlace
from ..model.pci_address import normal_bus_id
from ..model.sample import Sample
from ..model.topology_frames import (
    SELF,
    UNKNOWN,
    GpuPlace,
    Island,
    NicPlace,
    PeerAccess,
    TopologyFrame,
)
from .pci_levels import Linked, groups_of, nearness, nvlink_pairs, path_level


def makes_topology(sample: Sample) -> object:
    """Everything that the shape of the node is made of."""
    return (
        sample.topology,
        sample.gpu_paths,
        [
            (
                gpu.index,
                gpu.pci_bus_id,
                gpu.numa_node,
                [(link.active, link.remote, link.remote_pci_bus_id) for link in gpu.nvlinks or ()],
            )
            for gpu in sample.gpus
        ],
    )


def places_of(sample: Sample) -> dict[str, PciPlace]:
    """Bus id → where that card sits."""
    topology = sample.topology
    return {place.bus_id: place for place in topology.places} if topology else {}


def derive_topology(sample: Sample) -> TopologyFrame | None:
    """The shape of the node; ``None`` where nothing of it is known."""
    reading = sample.topology
    gpus = sample.gpus
    if reading is None and not any(gpu.nvlinks for gpu in gpus) and sample.gpu_paths is None:
        return None
    places = places_of(sample)
    cards = [_card(gpu, places) for gpu in gpus]
    nics = _nics(reading.places if reading else ())
    linked = {**nvlink_pairs(gpus), **_linked_by_the_driver(sample)}
    peers = _peers(sample, linked)
    reported = sample.gpu_paths.paths if sample.gpu_paths else ()
    paths = {(one, two): level for one, two, level in reported}
    levels = _matrix(gpus, cards, [place for _, place in nics], linked, paths)
    refused = {(peer.one, peer.two) for peer in peers if peer.refused}
    islands = _islands(gpus, {pair: each for pair, each in linked.items() if pair not in refused})
    island_of = {index: island.name for island in islands for index in island.gpus}
    return TopologyFrame(
        gpus=tuple(
            _gpu_place(gpu, card, row[len(gpus) :], nics, island_of.get(gpu.index))
            for gpu, card, row in zip(gpus, cards, levels, strict=False)
        ),
        nics=tuple(
            NicPlace(name=name, bus_id=place.bus_id, numa_node=place.numa_node, cpus=place.cpus)
            for name, place in nics
        ),
        columns=(*(f"GPU{gpu.index}" for gpu in gpus), *(name for name, _ in nics)),
        levels=levels,
        islands=islands,
        nodes=reading.nodes if reading else (),
        iommu=reading.iommu if reading else None,
        acs_redirects=reading.acs_redirects if reading else None,
        peers=peers,
    )


def _linked_by_the_driver(sample: Sample) -> dict[tuple[int, int], Linked]:
    """Pairs that the driver connects over NVLink where links do not tell where they lead to, as in a
    virtual machine: all there are go to the switches."""
    active = {
        gpu.index: sum(link.active is True for link in gpu.nvlinks or ())
        for gpu in sample.gpus
        if not any(link.remote or link.remote_pci_bus_id for link in gpu.nvlinks or ())
    }
    return {
        (one, two): Linked(min(active[one], active[two]), through_switch=True)
        for one, two, _, over_nvlink in (sample.gpu_paths.peers if sample.gpu_paths else ())
        if over_nvlink == PEER_OK and active.get(one) and active.get(two)
    }


def _peers(sample: Sample, linked: Mapping[tuple[int, int], Linked]) -> tuple[PeerAccess, ...]:
    return tuple(
        PeerAccess(
            one=one,
            two=two,
            access=access,
            over_nvlink=over_nvlink,
            links=linked[one, two].links if (one, two) in linked else 0,
        )
        for one, two, access, over_nvlink in (sample.gpu_paths.peers if sample.gpu_paths else ())
    )


def _card(gpu: GpuReading, places: Mapping[str, PciPlace]) -> PciPlace | None:
    bus_id = normal_bus_id(gpu.pci_bus_id)
    return places.get(bus_id) if bus_id else None


def _nics(places: Sequence[PciPlace]) -> list[tuple[str, PciPlace]]:
    """RDMA devices; on a node without any, its network cards."""
    rdma = [(name, place) for place in places if place.kind == "rdma" for name in place.names]
    found = rdma or [
        (place.names[0], place) for place in places if place.kind == "network" and place.names
    ]
    return sorted(found, key=lambda nic: (len(nic[0]), nic[0]))


def _matrix(
    gpus: Sequence[GpuReading],
    cards: Sequence[PciPlace | None],
    nics: Sequence[PciPlace],
    linked: Mapping[tuple[int, int], Linked],
    paths: Mapping[tuple[int, int], str],
) -> tuple[tuple[str, ...], ...]:
    every: list[PciPlace | None] = [*cards, *nics]

    def level(row: int, column: int) -> str:
        if row == column:
            return SELF
        if max(row, column) < len(gpus):
            pair = (gpus[min(row, column)].index, gpus[max(row, column)].index)
            if pair in linked:
                return f"NV{linked[pair].links}"
            if pair in paths:
                return paths[pair]
        one, two = every[row], every[column]
        return (path_level(one, two) if one and two else None) or UNKNOWN

    size = range(len(every))
    return tuple(tuple(level(row, column) for column in size) for row in size)


def _islands(
    gpus: Sequence[GpuReading], linked: Mapping[tuple[int, int], Linked]
) -> tuple[Island, ...]:
    groups = [group for group in groups_of([gpu.index for gpu in gpus], linked) if len(group) > 1]
    islands: list[Island] = []
    for number, group in enumerate(groups):
        inside = [pair for (one, _), pair in linked.items() if one in group]
        islands.append(
            Island(
                name=_name(number),
                gpus=tuple(group),
                links=min(pair.links for pair in inside),
                through="switch" if any(pair.through_switch for pair in inside) else "gpu",
            )
        )
    return tuple(islands)


def _name(number: int) -> str:
    turn, letter = divmod(number, len(ascii_uppercase))
    return ascii_uppercase[letter] + (str(turn) if turn else "")


def _gpu_place(
    gpu: GpuReading,
    card: PciPlace | None,
    to_nics: Sequence[str],
    nics: Sequence[tuple[str, PciPlace]],
    island: str | None,
) -> GpuPlace:
    known = [
        (level, name) for level, (name, _) in zip(to_nics, nics, strict=True) if level != UNKNOWN
    ]
    nearest = min((level for level, _ in known), key=nearness, default=None)
    node = card.numa_node if card and card.numa_node is not None else gpu.numa_node
    return GpuPlace(
        index=gpu.index,
        bus_id=normal_bus_id(gpu.pci_bus_id),
        numa_node=node,
        cpus=card.cpus if card else None,
        island=island,
        nearest_nics=tuple(name for level, name in known if level == nearest),
        nearest_level=nearest,
    )
