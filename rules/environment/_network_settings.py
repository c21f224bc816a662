"""Network interfaces and RDMA cards that a job's variables choose, against those that this node has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.link_readings import PATH_LEVELS
from ...probes.model.topology_frames import GpuPlace, TopologyFrame
from ..rule import is_multi_node
from ..waits.ranks import names_of
from ._settings_audit import Line, Variables

_BY_SWITCH = frozenset({"PIX", "PXB"})
"""Near enough for a card to reach the GPU's memory without the CPU."""
_ACROSS = "SYS"


def interfaces(variables: Variables, frame: Frame) -> Iterator[Line]:
    """Names of network interfaces that none here begins with, or that are all down."""
    networks = frame.host.networks if frame.host else None
    if not networks:
        return
    for name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"):
        wanted = variables.get(name, "")
        if not wanted or wanted.startswith("^"):
            continue
        exact = wanted.startswith("=")
        parts = [part for part in wanted.lstrip("=").split(",") if part and part != "lo"]
        found = [
            network
            for network in networks
            if any(_is_meant(part, network.name, exact=exact) for part in parts)
        ]
        if parts and not found:
            yield f"{name}={wanted}", "this node has no such network interface"
        elif found and all(network.up is False for network in found):
            yield f"{name}={wanted}", "that network interface is down"


def cards(job: JobFrame, variables_of: Mapping[int, Variables], frame: Frame) -> Iterator[Line]:
    """RDMA cards that are not here, or far from the GPU of the rank that is to use them.

    Args:
        job: with ranks on other nodes too; else its cards carry nothing.
        variables_of: pid of a rank → its variables.
        frame: it.
    """
    devices = sorted({port.device for port in frame.ports})
    if not devices or not is_multi_node(job):
        return
    up = {port.device for port in frame.ports if port.state == "active"}
    said: dict[Line, list[RankFrame]] = {}
    for rank in job.living:
        wanted = variables_of.get(rank.pid, {}).get("NCCL_IB_HCA", "")
        if wanted and (what := _wrong(wanted, rank, devices, up, frame.topology)):
            said.setdefault((f"NCCL_IB_HCA={wanted}", what), []).append(rank)
    for (setting, what), ranks in said.items():
        yield setting, f"{what} ({names_of(ranks)})"


def _wrong(
    wanted: str,
    rank: RankFrame,
    devices: Sequence[str],
    up: frozenset[str] | set[str],
    topology: TopologyFrame | None,
) -> str:
    chosen = _chosen(wanted, devices)
    if not chosen:
        return "this node has no such RDMA card"
    if not up & set(chosen):
        return "that RDMA card is down" if up else ""
    places = topology.gpus if topology else ()
    place = next((each for each in places if each.index == rank.gpu_index), None)
    if topology is None or place is None:
        return ""
    return _far(place, [name for name in chosen if name in up], up, topology)


def _far(place: GpuPlace, chosen: Iterable[str], up: Iterable[str], topology: TopologyFrame) -> str:
    levels = {name: _level(place, name, topology) for name in up}
    known = {name: level for name, level in levels.items() if level in PATH_LEVELS}
    mine = [name for name in chosen if name in known]
    if not mine:
        return ""
    nearest = min(known, key=lambda name: (PATH_LEVELS.index(known[name]), name))
    used = min(mine, key=lambda name: PATH_LEVELS.index(known[name]))
    near, far = known[nearest], known[used]
    by_switch = near in _BY_SWITCH and far not in _BY_SWITCH
    if by_switch or (far == _ACROSS and near != _ACROSS):
        return f"{used} is {far} away from GPU {place.index}, and {nearest} {near}"
    return ""


def _level(place: GpuPlace, name: str, topology: TopologyFrame) -> str:
    indices = [each.index for each in topology.gpus]
    if name not in topology.columns or place.index not in indices:
        return ""
    return topology.levels[indices.index(place.index)][topology.columns.index(name)]


def _chosen(wanted: str, devices: Iterable[str]) -> list[str]:
    """As NCCL reads it: ``mlx5_0:1,mlx5_2``; ``=`` for whole names, ``^`` for all others."""
    signs = wanted[: len(wanted) - len(wanted.lstrip("^="))]
    names = [part.partition(":")[0] for part in wanted[len(signs) :].split(",") if part]
    exact = "=" in signs
    return [
        device
        for device in devices
        if any(_is_meant(name, device, exact=exact) for name in names) != ("^" in signs)
    ]


def _is_meant(part: str, name: str, *, exact: bool) -> bool:
    return name == part if exact else name.startswith(part)
