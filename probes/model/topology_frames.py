"""How the node is built, as it is drawn: who is how far from whom, and who is in the wrong place."""

from __future__ import annotations

from typing import Literal

import msgspec

from .link_readings import PEER_OK, NumaNode, PlacementReading

SELF = "X"
UNKNOWN = "?"


class GpuPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a GPU sits."""

    index: int
    bus_id: str | None = None
    numa_node: int | None = None
    cpus: str | None = None
    island: str | None = None
    """Name of its NVLink island; ``None`` where it has no NVLink that is up."""
    nearest_nics: tuple[str, ...] = ()
    """Network cards at the shortest distance, which is…"""
    nearest_level: str | None = None


class NicPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a network card sits."""

    name: str
    """RDMA device, or interface where it has none."""
    bus_id: str
    numa_node: int | None = None
    cpus: str | None = None


class Island(msgspec.Struct, frozen=True, kw_only=True):
    """GPUs that reach each other over NVLink, directly or through switches, as far as the driver lets
    them."""

    name: str
    """``A``, ``B``… in the order of their first GPUs."""
    gpus: tuple[int, ...]
    links: int
    """Fewest links up between two of them that are linked."""
    through: Literal["switch", "gpu"]


class PeerAccess(msgspec.Struct, frozen=True, kw_only=True):
    """Whether two GPUs may reach each other's memory: `PEER_OK`, else why not; ``None``: not reported."""

    one: int
    two: int
    access: str | None = None
    over_nvlink: str | None = None
    links: int = 0
    """NVLinks between them that are up, or to a switch of both."""

    @property
    def refused(self) -> bool:
        """There are NVLinks between the two, and the driver does not let them be used."""
        return bool(self.links) and self.over_nvlink not in (None, PEER_OK)


class TopologyFrame(msgspec.Struct, frozen=True, kw_only=True):
    """The node's shape: `levels` is what ``nvidia-smi topo -m`` shows."""

    gpus: tuple[GpuPlace, ...] = ()
    nics: tuple[NicPlace, ...] = ()
    columns: tuple[str, ...] = ()
    """``GPU0``…, then the network cards: names of the rows as well."""
    levels: tuple[tuple[str, ...], ...] = ()
    """``NVn`` (n links), ``PIX``, ``PXB``, ``PHB``, ``NODE``, ``SYS``, `SELF`, or `UNKNOWN`."""
    islands: tuple[Island, ...] = ()
    """Those of two GPUs or more."""
    nodes: tuple[NumaNode, ...] = ()
    iommu: bool | None = None
    acs_redirects: tuple[str, ...] | None = None
    peers: tuple[PeerAccess, ...] = ()


class PlacementFrame(PlacementReading, frozen=True, kw_only=True, omit_defaults=False):
    """A process on a GPU, and whether it is near to that GPU."""

    rank: int | None = None
    gpu_index: int | None = None
    job_id: str | None = None
    gpu_node: int | None = None
    may_run_near: bool | None = None
    """Its CPUs are some of the GPU's node."""
    runs_near: bool | None = None
    local_memory_ratio: float | None = None
    """Share of its memory that is on the GPU's node."""
    age_seconds: float = 0.0
