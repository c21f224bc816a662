"""The links of the simulated node: RDMA ports, what lies between its cards, and where its ranks sit.

Built as an eight-GPU node with NVSwitch mostly is: each GPU shares a PCIe switch with a port for
traffic between nodes; two ports more lead to storage.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from ..model.link_readings import (
    PEER_OK,
    GpuPathsReading,
    NumaNode,
    PciPlace,
    PlacementReading,
    PortReading,
    TopologyReading,
)
from .gpus import GIB, gpu_bus_id
from .rhythm import RANKS
from .timeline import MICROSECONDS

COMPUTE_PORTS = 8
_STORAGE_PORTS = 2
_IDLE = 1.8e6
_STORAGE = 0.35e9
_PACKET_BYTES = 4096
_LIMIT = 50e9
_NODES = 2
_CPUS_PER_NODE = 48
_QUIET = {
    "symbol_error": 0,
    "link_error_recovery": 0,
    "link_downed": 0,
    "port_rcv_errors": 0,
    "port_xmit_discards": 0,
    "out_of_sequence": 0,
    "packet_seq_err": 0,
    "local_ack_timeout_err": 0,
}


def device(number: int) -> str:
    """Name of the RDMA device; the first ones are for traffic between nodes."""
    return f"mlx5_{number}"


def read_ports(since_boot: int, monotonic_seconds: float) -> tuple[PortReading, ...]:
    """All ports, of a job that needs no other node.

    Args:
        since_boot: microseconds.
        monotonic_seconds: of the readings.
    """
    up = since_boot / MICROSECONDS
    return tuple(
        port(number, _IDLE * up if number < COMPUTE_PORTS else _STORAGE * up, monotonic_seconds)
        for number in range(COMPUTE_PORTS + _STORAGE_PORTS)
    )


def port(number: int, carried: float, monotonic_seconds: float) -> PortReading:
    """One port that has carried so many bytes in each direction, a little more out than in."""
    storage = number >= COMPUTE_PORTS
    rx, tx = int(carried), int(carried * 1.02)
    return PortReading(
        monotonic_seconds=monotonic_seconds,
        device=device(number),
        port=1,
        driver="mlx5_core",
        model="MT4129",
        board="MT_0000000838",
        firmware="28.39.1002",
        pci_bus_id=_nic_bus_id(number),
        link_layer="ethernet" if storage else "infiniband",
        interface=f"eth{number - COMPUTE_PORTS + 1}" if storage else f"ib{number}",
        state="active",
        physical_state="linkup",
        rate_bytes_per_second=_LIMIT,
        lanes=4,
        speed="NDR",
        data_counter_bits=64,
        rx_bytes=rx,
        tx_bytes=tx,
        rx_packets=rx // _PACKET_BYTES,
        tx_packets=tx // _PACKET_BYTES,
        wait_ticks=0,
        counters=_QUIET,
    )


@lru_cache(1)
def topology() -> TopologyReading:
    """How the node is built; read once, when the node came up."""
    places: list[PciPlace] = []
    for number in range(COMPUTE_PORTS + _STORAGE_PORTS):
        node = _node(number)
        cpus = _cpus(node)
        bus = 0x15 + 0x10 * number
        root = f"pci0000:{bus:02x}"
        path = (root, f"0000:{bus:02x}:01.0", f"0000:{bus + 1:02x}:00.0")
        if number < RANKS:
            places.append(
                PciPlace(
                    bus_id=gpu_bus_id(number).lower()[4:],
                    kind="gpu",
                    path=(*path, f"0000:{bus + 2:02x}:00.0"),
                    numa_node=node,
                    cpus=cpus,
                    generation_max=5,
                    width_max=16,
                    slot_generation_max=5,
                    slot_width_max=16,
                )
            )
        places.append(
            PciPlace(
                bus_id=_nic_bus_id(number),
                kind="rdma",
                names=(device(number),),
                path=(*path, f"0000:{bus + 2:02x}:01.0"),
                numa_node=node,
                cpus=cpus,
                generation_max=5,
                width_max=16,
                slot_generation_max=5,
                slot_width_max=16,
            )
        )
    return TopologyReading(
        monotonic_seconds=1.0,
        places=tuple(places),
        nodes=tuple(
            NumaNode(node=node, cpus=_cpus(node), memory_total_bytes=503 * GIB)
            for node in range(_NODES)
        ),
        iommu=False,
        acs_redirects=(),
    )


@lru_cache(1)
def gpu_paths() -> GpuPathsReading:
    """As the driver tells: no two GPUs share a switch."""
    return GpuPathsReading(
        monotonic_seconds=1.0,
        paths=tuple(
            (one, two, "NODE" if _node(one) == _node(two) else "SYS")
            for one in range(RANKS)
            for two in range(one + 1, RANKS)
        ),
        peers=tuple(
            (one, two, PEER_OK, PEER_OK) for one in range(RANKS) for two in range(one + 1, RANKS)
        ),
    )


def placements(
    pid_of: Callable[[int], int],
    start_of: Callable[[int], float],
    moment: int,
    monotonic_seconds: float,
) -> tuple[PlacementReading, ...]:
    """The ranks: free to run anywhere, and near to their GPUs all the same, but for a moment."""
    found: list[PlacementReading] = []
    for rank in range(RANKS):
        node = _node(rank)
        strays = (moment // (5 * MICROSECONDS) + 3 * rank) % 11 == 0
        found.append(
            PlacementReading(
                monotonic_seconds=monotonic_seconds,
                pid=pid_of(rank),
                start_time_seconds=start_of(rank),
                cpus="0-95",
                allowed_nodes=(0, 1),
                running_node=1 - node if strays else node,
                memory_bytes={node: int(8.7 * GIB), 1 - node: int(0.7 * GIB)},
            )
        )
    return tuple(found)


def _node(number: int) -> int:
    """Of the GPU or card of that number."""
    return (number % COMPUTE_PORTS) // (COMPUTE_PORTS // _NODES) if number < 8 else number - 8


def _cpus(node: int) -> str:
    return f"{node * _CPUS_PER_NODE}-{(node + 1) * _CPUS_PER_NODE - 1}"


def _nic_bus_id(number: int) -> str:
    return f"0000:{0x19 + 0x10 * number:02x}:00.0"
