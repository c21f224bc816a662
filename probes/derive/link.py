"""All links of the node in one list: to its GPUs, between them, and to other nodes."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.gpu_frames import GpuFrame
from ..model.host_frames import HostFrame, NetworkFrame
from ..model.link_frames import LinkFrame, LinkKind, PortFrame
from ..model.port_counters import of_kind

_LAYER_KINDS: dict[str | None, LinkKind] = {"infiniband": "infiniband", "ethernet": "roce"}
_RATES = ("rx_bytes_per_second", "tx_bytes_per_second", "limit_bytes_per_second")
_UP = "up"


def derive_links(
    gpus: Sequence[GpuFrame], ports: Sequence[PortFrame], host: HostFrame | None
) -> tuple[LinkFrame, ...]:
    """PCIe and NVLink of each GPU, then the RDMA ports, then the network interfaces."""
    return (
        *(_pcie(gpu) for gpu in gpus),
        *(_nvlink(gpu) for gpu in gpus if gpu.nvlinks),
        *(_port(port) for port in ports),
        *(_network(network) for network in (host.networks if host else None) or ()),
    )


def _pcie(gpu: GpuFrame) -> LinkFrame:
    return LinkFrame(
        id=f"gpu{gpu.index} pcie",
        kind="pcie",
        gpu_index=gpu.index,
        state=_trained(gpu),
        errors_since_start=None if gpu.lost else gpu.pcie_replays_since_start,
        rx_bytes_per_second=gpu.pcie_rx_bytes_per_second,
        tx_bytes_per_second=gpu.pcie_tx_bytes_per_second,
        limit_bytes_per_second=gpu.pcie_limit_bytes_per_second,
        missing=_missing(gpu, "pcie_"),
    )


def _trained(gpu: GpuFrame) -> str | None:
    if gpu.pcie_generation is None or gpu.pcie_width is None:
        return None
    return f"gen {gpu.pcie_generation} x{gpu.pcie_width}"


def _nvlink(gpu: GpuFrame) -> LinkFrame:
    links = gpu.nvlinks or ()
    up = sum(bool(link.active) for link in links)
    return LinkFrame(
        id=f"gpu{gpu.index} nvlink",
        kind="nvlink",
        gpu_index=gpu.index,
        state=_UP if up == len(links) else f"{up} of {len(links)} up",
        errors_since_start=None if gpu.lost else gpu.nvlink_errors_since_start,
        rx_bytes_per_second=gpu.nvlink_rx_bytes_per_second,
        tx_bytes_per_second=gpu.nvlink_tx_bytes_per_second,
        limit_bytes_per_second=gpu.nvlink_limit_bytes_per_second,
        missing=_missing(gpu, "nvlink_"),
    )


def _port(port: PortFrame) -> LinkFrame:
    errors = of_kind(port.counters_since_start, "signal", "discard", "retransmission")
    return LinkFrame(
        id=f"{port.device}/{port.port}",
        kind=_LAYER_KINDS.get(port.link_layer, "rdma"),
        device=port.device,
        state=_UP if port.state == "active" else port.state,
        errors_since_start=sum(errors.values()) if port.counters else None,
        rx_bytes_per_second=port.rx_bytes_per_second,
        tx_bytes_per_second=port.tx_bytes_per_second,
        limit_bytes_per_second=port.rate_bytes_per_second,
        wait_ratio=port.wait_ratio,
        missing={
            **{name: why for name, why in port.missing.items() if name in _RATES},
            **_renamed(port.missing, "rate_bytes_per_second", "limit_bytes_per_second"),
            **_renamed(port.missing, "wait_ratio", "wait_ratio"),
        },
    )


def _network(network: NetworkFrame) -> LinkFrame:
    limit = network.speed_bytes_per_second
    return LinkFrame(
        id=network.name,
        kind="ethernet",
        device=network.name,
        state=None if network.up is None else _UP if network.up else "down",
        errors_since_start=network.dropped_since_start,
        rx_bytes_per_second=network.rx_bytes_per_second,
        tx_bytes_per_second=network.tx_bytes_per_second,
        limit_bytes_per_second=limit,
        missing={} if limit else {"limit_bytes_per_second": "the interface tells no speed"},
    )


def _missing(gpu: GpuFrame, prefix: str) -> dict[str, str]:
    missing = gpu.missing
    found = {name: missing[prefix + name] for name in _RATES if prefix + name in missing}
    return {**found, "errors_since_start": "GPU is lost"} if gpu.lost else found


def _renamed(missing: dict[str, str], name: str, new: str) -> dict[str, str]:
    return {new: missing[name]} if name in missing else {}
