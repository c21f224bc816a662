"""Scenarios in which a link is broken, too narrow, or too full."""

from __future__ import annotations

import msgspec

from ..model.gpu_readings import GpuReading, NvlinkReading
from ..model.link_readings import PEER_OK
from ..model.missing_reasons import NO_FABRIC
from ..model.sample import Sample
from .activity import TRAINING, Activity, Work
from .gpus import gpu_bus_id
from .links import COMPUTE_PORTS, port
from .overlays import Fields, on_gpus
from .rhythm import RANKS, Pace, everyone, only
from .scenario import Overlay, Scenario, Scene

_WORLD_SIZE = 32
_CARRIED = 17e9
"""Bytes a second and direction that each port carries for a job on four nodes in good health."""
_BEGAN_SECONDS = -5000.0
"""The ports' counters stand at 0 then."""
_TICKS_PER_SECOND = 50e9 / 8
_WAIT_FULL = 2**32 - 1
"""The kernel reads 32 bits of the counter: after some seconds of waiting it is full."""


def on_four_nodes(sample: Sample, scene: Scene) -> Sample:
    """The job has ranks on other nodes too: this one is the first."""
    processes = tuple(
        msgspec.structs.replace(
            process, environment={**process.environment, "WORLD_SIZE": str(_WORLD_SIZE)}
        )
        if "WORLD_SIZE" in process.environment
        else process
        for process in sample.processes
    )
    probes = tuple(
        msgspec.structs.replace(probe, world_size=_WORLD_SIZE) for probe in sample.probes
    )
    return msgspec.structs.replace(sample, processes=processes, probes=probes)


def carrying(after: float, *stopped: int) -> Overlay:
    """The ports between nodes carry the job's traffic, and ``after`` bytes a second from the onset on;
    those that are ``stopped`` carry nothing from then on."""

    def overlay(sample: Sample, scene: Scene) -> Sample:
        before = _CARRIED * (min(scene.elapsed_seconds, scene.onset_seconds) - _BEGAN_SECONDS)
        ports = tuple(
            port(
                number,
                before + (0.0 if number in stopped else scene.grown(after)),
                reading.monotonic_seconds,
            )
            if number < COMPUTE_PORTS
            else reading
            for number, reading in enumerate(sample.ports)
        )
        return msgspec.structs.replace(sample, ports=ports)

    return overlay


def _down(*numbers: int) -> Overlay:
    def overlay(sample: Sample, scene: Scene) -> Sample:
        if scene.since < 0:
            return sample
        ports = tuple(
            msgspec.structs.replace(
                reading,
                state="down",
                physical_state="polling",
                counters={**reading.counters, "link_downed": 1, "symbol_error": 14},
            )
            if number in numbers
            else reading
            for number, reading in enumerate(sample.ports)
        )
        return msgspec.structs.replace(sample, ports=ports)

    return overlay


def _congested(sample: Sample, scene: Scene) -> Sample:
    ports = tuple(
        msgspec.structs.replace(
            reading,
            wait_ticks=min(_WAIT_FULL, int(scene.grown(_waits(number) * _TICKS_PER_SECOND))),
        )
        if number < COMPUTE_PORTS
        else reading
        for number, reading in enumerate(sample.ports)
    )
    return msgspec.structs.replace(sample, ports=ports)


def _waits(number: int) -> float:
    """Share of the time; the ports differ as their neighbors on the switch do."""
    return 0.34 + 0.013 * (number * 5 % 8)


LINK_DOWN = Scenario(
    name="link-down",
    summary="InfiniBand port mlx5_3 of a job on four nodes goes down; rank 3's traffic takes a detour.",
    finds=("LNK506", "LNK508", "RUN430"),
    severity="error",
    about="mlx5_3/1",
    onset_seconds=-60.0,
    stages=(only(-60.0, 3, Pace(comm=0.85)),),
    overlays=(on_four_nodes, carrying(14e9, 3), _down(3)),
)

CONGESTED_INFINIBAND = Scenario(
    name="congested-infiniband",
    summary="All InfiniBand ports of a job on four nodes wait for credits, until their counters are full.",
    finds=("LNK509", "RUN430"),
    about="mlx5_0/1",
    onset_seconds=-75.0,
    stages=(everyone(-75.0, Pace(comm=1.10)),),
    overlays=(on_four_nodes, carrying(11e9), _congested),
)

_ISLAND = 4
_LINKS_A_PAIR = 4
_LINK_BYTES_PER_SECOND = 25e9
_BEGINNING = -1e6


def _in_islands(gpu: GpuReading, scene: Scene) -> Fields:
    """Linked to the other three of its four, and by nothing but PCIe to the rest."""
    first = gpu.index // _ISLAND * _ISLAND
    peers = [index for index in range(first, first + _ISLAND) if index != gpu.index]
    counted = gpu.nvlinks[0] if gpu.nvlinks else NvlinkReading(link=0)
    return {
        "nvlinks": tuple(
            msgspec.structs.replace(
                counted,
                link=link,
                version=3,
                speed_bytes_per_second=_LINK_BYTES_PER_SECOND,
                remote="gpu",
                remote_pci_bus_id=gpu_bus_id(peers[link // _LINKS_A_PAIR]),
            )
            for link in range(_LINKS_A_PAIR * len(peers))
        ),
        "fabric_state": None,
        "fabric_health": None,
        "missing": {**gpu.missing, "fabric_state": NO_FABRIC, "fabric_health": NO_FABRIC},
    }


def _peers_in_islands(sample: Sample, scene: Scene) -> Sample:
    """From island to island the driver copies over PCIe alone."""
    if sample.gpu_paths is None:
        return sample
    peers = tuple(
        (one, two, access, PEER_OK if one // _ISLAND == two // _ISLAND else "not supported")
        for one, two, access, _ in sample.gpu_paths.peers
    )
    paths = msgspec.structs.replace(sample.gpu_paths, peers=peers)
    return msgspec.structs.replace(sample, gpu_paths=paths)


_CROSSING: Activity = TRAINING["comm"]._replace(
    pcie_rx=24e9, pcie_tx=23e9, nvlink_rx=31e9, nvlink_tx=31e9, power=235.0
)
_OVER_PCIE: Work = {**TRAINING, "comm": _CROSSING}

TWO_ISLANDS = Scenario(
    name="two-islands",
    summary="NVLink joins GPUs 0-3 and 4-7, only PCIe joins the two: all-reduce takes a third of a step.",
    finds=("LNK505", "RUN430"),
    onset_seconds=-90.0,
    stages=(everyone(-90.0, Pace(comm=0.98, work=_OVER_PCIE)),),
    overlays=(
        on_gpus(_in_islands, *range(RANKS), lead_seconds=-_BEGINNING),
        _peers_in_islands,
    ),
)
