"""What test_source.py and test_islands.py share."""

from __future__ import annotations

from collections.abc import Sequence

from gputop.probes.derive.topology import derive_topology
from gputop.probes.model.gpu_readings import GpuReading, NvlinkReading
from gputop.probes.model.link_readings import GpuPathsReading, TopologyReading
from gputop.probes.model.sample import Sample
from gputop.probes.model.topology_frames import TopologyFrame


def links(
    count: int, remote: str | None, bus_ids: list[str | None], down: Sequence[int] = ()
) -> tuple[NvlinkReading, ...]:
    return tuple(
        NvlinkReading(
            link=link,
            active=link not in down,
            remote=remote,  # type: ignore[arg-type]
            remote_pci_bus_id=bus_ids[link % len(bus_ids)],
        )
        for link in range(count)
    )


def derived(
    reading: TopologyReading | None,
    gpus: list[GpuReading],
    paths: tuple[tuple[int, int, str], ...] | None = None,
    node: str = "node17",
    peers: tuple[tuple[int, int, str | None, str | None], ...] = (),
) -> TopologyFrame:
    frame = derive_topology(
        Sample(
            time_seconds=0.0,
            monotonic_seconds=0.0,
            sequence=0,
            node=node,
            gpus=tuple(gpus),
            topology=reading,
            gpu_paths=None
            if paths is None and not peers
            else GpuPathsReading(monotonic_seconds=0.0, paths=paths or (), peers=peers),
        )
    )
    assert frame is not None
    return frame
