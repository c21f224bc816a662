"""Readings of the roads out of the node, and of where everything sits in it."""

from __future__ import annotations

from typing import Literal

from .reading import Reading

LinkLayer = Literal["infiniband", "ethernet", "unknown"]


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
