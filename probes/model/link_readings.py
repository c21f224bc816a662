"""Readings of the links out of the node, and of where everything sits in it."""

from typing import Literal

import msgspec

from .reading import Reading

LinkLayer = Literal["infiniband", "ethernet", "unknown"]


WAIT_TICK_BYTES = 8
"""A tick of ``wait_ticks`` is as long as so many bytes take. NVIDIA, ibdiagnet user manual, "Congestion
Assessment on InfiniBand Links": Quantum (HDR) and later count 8 bytes a port; the kernel's hfi1 driver
counts flits, which are as long."""


class PortReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """One port of an RDMA device: InfiniBand, RoCE, or what a cloud has in their place."""

    device: str
    """As in ``/sys/class/infiniband``."""
    port: int
    driver: str | None = None
    model: str | None = None
    board: str | None = None
    firmware: str | None = None
    pci_bus_id: str | None = None
    virtual_function: bool = False
    """A slice of a card that the host handed out: what it counts is its own share only."""
    link_layer: LinkLayer | None = None
    interface: str | None = None
    """The network interface of the same port."""
    state: str | None = None
    """``active``, or how far it is from that: ``down``, ``init``, ``armed``."""
    physical_state: str | None = None
    """``linkup``, or what keeps it: ``polling``, ``disabled``, ``linkerrorrecovery``…"""
    rate_bytes_per_second: float | None = None
    """What the port as trained now can carry in one direction, line encoding taken off."""
    lanes: int | None = None
    speed: str | None = None
    """Of a lane: ``HDR``, ``NDR``…"""
    data_counter_bits: int | None = None
    """Width of the counters of bytes: 64, or 32 of 4-byte words, which are full after 17 GB."""
    rx_bytes: int | None = None
    """Counters, as all that follow."""
    tx_bytes: int | None = None
    rx_packets: int | None = None
    tx_packets: int | None = None
    wait_ticks: int | None = None
    """While it had data to send, but no credit or no turn to send it. 32 bits, full at the end."""
    counters: dict[str, int] = {}
    """Counters of errors and of congestion by the kernel's own names; see `infiniband_counters`."""


class PciPlace(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a GPU or a network card sits. Read once, and again when cards come or go."""

    bus_id: str
    """As ``/sys/bus/pci/devices`` has it: ``0000:18:00.0``."""
    kind: Literal["gpu", "rdma", "network"]
    names: tuple[str, ...] = ()
    """Of the RDMA devices or interfaces on it; empty for a GPU."""
    path: tuple[str, ...] = ()
    """From the host bridge down: ``pci0000:15``, then the bus id of each bridge and switch port."""
    numa_node: int | None = None
    cpus: str | None = None
    """Those near to it, as the kernel lists them: ``0-47,96-143``."""
    generation_max: int | None = None
    """PCIe generation and lanes that the card can do…"""
    width_max: int | None = None
    slot_generation_max: int | None = None
    """…and those of the port that it hangs from."""
    slot_width_max: int | None = None


class NumaNode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One memory node of the host."""

    node: int
    cpus: str = ""
    memory_total_bytes: int | None = None


class TopologyReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """How the node is built."""

    places: tuple[PciPlace, ...] = ()
    nodes: tuple[NumaNode, ...] = ()
    iommu: bool | None = None
    """Cards go through an IOMMU, which may send traffic between them up to the CPU."""
    acs_redirects: tuple[str, ...] | None = None
    """Bus ids of the bridges above GPUs that send traffic between cards below them up to the CPU."""


class GpuPathsReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """How far GPUs are from each other on PCIe, as the driver says."""

    paths: tuple[tuple[int, int, str], ...] = ()
    """Index, higher index, and one of `PATH_LEVELS`."""
    peers: tuple[tuple[int, int, str | None, str | None], ...] = ()
    """Index, higher index, and whether the two may reach each other's memory, at all and over NVLink:
    `PEER_OK`, else why not; ``None`` where the driver does not tell."""


class ImexReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """NVIDIA's service for memory of GPUs on other nodes (NVLink between nodes), as this node has it set up."""

    domain_nodes: int | None = None
    """In its list of nodes, this one included."""
    daemon_runs: bool | None = None
    channels: int | None = None
    """Devices by which a job reaches memory of other nodes."""


PEER_OK = "ok"
PATH_LEVELS = ("PIX", "PXB", "PHB", "NODE", "SYS")
"""Over one PCIe switch; over several; over a host bridge; between two of one memory node; between two."""


class PlacementReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """Where a process may run, runs, and has its memory."""

    pid: int
    start_time_seconds: float
    cpus: str | None = None
    """That it may run on, as the kernel lists them."""
    allowed_nodes: tuple[int, ...] = ()
    """Nodes of those CPUs."""
    running_node: int | None = None
    """Of the CPU that its main thread ran on last."""
    memory_bytes: dict[int, int] | None = None
    """Node → bytes of it there. Seldom read, for the kernel has to walk all of its pages for it."""
