"""How the node is built: GPUs, network cards, what lies between them, and memory nodes.

Read once: again only when a card came or went, for nothing else of this changes while a node is up.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from ...model.link_readings import NumaNode, PciPlace, TopologyReading
from ..context import Context
from ..procfs.files import read_file
from ..procfs.text import name_text, number, text, times
from ..protocol import SourceAbsent
from .pci import BUS_ID, PciDevice

_NVIDIA = 0x10DE
_GPU_CLASSES = frozenset({0x0300, 0x0302})
_NETWORK_CLASS = 0x02
_LOOK_SECONDS = 30.0
_NO_REDIRECTS = "the configuration of PCIe bridges is readable by root alone"


class TopologySource:
    """Reads the node's shape.

    Args:
        root: of the file system with ``sys`` in it.
        clock: monotonic seconds.
    """

    name = "topology"
    rest_seconds = 10.0

    def __init__(self, root: Path = Path("/"), clock: Callable[[], float] = time.monotonic) -> None:
        self._sys = root / "sys"
        self._clock = clock
        self._cards: frozenset[str] = frozenset()
        self._look_at = 0.0
        self._reading: TopologyReading | None = None

    def read(self) -> tuple[TopologyReading]:
        """The shape, as read when the cards that are there now were first seen.

        Raises:
            SourceAbsent: nothing of it is reported here.
        """
        now = self._clock()
        if self._reading is None or now >= self._look_at:
            self._look_at = now + _LOOK_SECONDS
            cards = self._present()
            if self._reading is None or cards != self._cards:
                self._cards = cards
                self._reading = self._read(now)
        return (self._reading,)

    def close(self) -> None:
        """Nothing is held."""

    def _present(self) -> frozenset[str]:
        names = _names(self._sys / "bus/pci/devices")
        rdma = _names(self._sys / "class/infiniband")
        if not names and not rdma and not _names(self._sys / "devices/system/node"):
            raise SourceAbsent("this machine tells nothing of its PCI devices: is /sys mounted?")
        return frozenset((*names, *rdma))

    def _read(self, now: float) -> TopologyReading:
        rdma = self._by_card("class/infiniband")
        networks = self._by_card("class/net")
        devices = [
            PciDevice(_behind(self._sys / "bus/pci/devices" / name))
            for name in _names(self._sys / "bus/pci/devices")
            if BUS_ID.fullmatch(name)
        ]
        places: list[PciPlace] = []
        gpus: list[PciDevice] = []
        for device in devices:
            if device.vendor == _NVIDIA and device.device_class >> 8 in _GPU_CLASSES:
                gpus.append(device)
                places.append(_place(device, "gpu"))
            elif names := rdma.get(device.bus_id):
                places.append(_place(device, "rdma", names))
            elif (
                names := networks.get(device.bus_id)
            ) and device.device_class >> 16 == _NETWORK_CLASS:
                places.append(_place(device, "network", names))
        redirects = _redirects(gpus)
        return TopologyReading(
            monotonic_seconds=now,
            places=tuple(places),
            nodes=tuple(self._nodes()),
            iommu=bool(_names(self._sys / "class/iommu")),
            acs_redirects=redirects,
            missing={"acs_redirects": _NO_REDIRECTS} if redirects is None else {},
        )

    def _by_card(self, folder: str) -> dict[str, tuple[str, ...]]:
        """Bus id → names of what is on that card."""
        found: dict[str, tuple[str, ...]] = {}
        for name in _names(self._sys / folder):
            device = self._sys / folder / name / "device"
            if device.exists():
                bus_id = _behind(device).name
                found[bus_id] = (*found.get(bus_id, ()), name_text(name))
        return found

    def _nodes(self) -> Iterable[NumaNode]:
        folder = self._sys / "devices/system/node"
        numbers = [number(name.removeprefix("node").encode()) for name in _names(folder)]
        for node in sorted(each for each in numbers if each is not None):
            try:
                cpus = text(read_file(folder / f"node{node}/cpulist").strip())
            except OSError:
                continue
            yield NumaNode(node=node, cpus=cpus, memory_total_bytes=_memory(folder / f"node{node}"))


def _place(device: PciDevice, kind: str, names: tuple[str, ...] = ()) -> PciPlace:
    own = device.limit
    above = device.bridges()
    slot = above[0].limit if above else None
    return PciPlace(
        bus_id=device.bus_id,
        kind=kind,  # type: ignore[arg-type]
        names=names,
        path=device.path,
        numa_node=device.numa_node,
        cpus=device.cpus,
        generation_max=own.generation,
        width_max=own.lanes,
        slot_generation_max=slot.generation if slot else None,
        slot_width_max=slot.lanes if slot else None,
    )


def _redirects(gpus: Iterable[PciDevice]) -> tuple[str, ...] | None:
    """The bridges above GPUs that redirect; ``None`` where not one may be read."""
    bridges = {bridge.bus_id: bridge for gpu in gpus for bridge in gpu.bridges()}
    reported = {bus_id: bridge.redirects() for bus_id, bridge in sorted(bridges.items())}
    if bridges and all(redirects is None for redirects in reported.values()):
        return None
    return tuple(bus_id for bus_id, redirects in reported.items() if redirects)


def _memory(folder: Path) -> int | None:
    try:
        data = read_file(folder / "meminfo")
    except OSError:
        return None
    words = data.partition(b"MemTotal:")[2].split()
    return times(number(words[0]), 1024) if words else None


def _behind(link: Path) -> Path:
    """Where it leads to; of links in a circle, somewhere. ``Path.resolve`` would raise."""
    return Path(os.path.realpath(link))


def _names(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []


def make(_context: Context) -> TopologySource:
    """For the registry."""
    return TopologySource()
