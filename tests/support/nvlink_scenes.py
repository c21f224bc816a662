"""Jobs whose GPUs have NVLinks: of one switch, of islands, refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gputop.probes.model.gpu_readings import NvlinkReading
from gputop.probes.model.link_readings import GpuPathsReading, TopologyReading

from support.rules_scenes import Changes, Script
from support.scene_readings import BEGAN, GPUS, probe

LINKS = 6


def nvlinks(
    second: float,
    down: Sequence[int] = (),
    count: int = LINKS,
    closed: Sequence[int] = (),
    **errors: int,
) -> tuple[NvlinkReading, ...]:
    """Links to one switch; the errors are those of link 2."""
    return tuple(
        NvlinkReading(
            link=link,
            active=link not in down,
            traffic_disabled=link in closed,
            remote="switch",
            remote_pci_bus_id="00000000:05:00.0",
            stamp_seconds=BEGAN + second,
            **{
                name: errors.get(name, 0) if link == 2 else 0
                for name in ("crc_errors", "replay_errors", "recovery_errors")
            },
        )
        for link in range(count)
    )


def linked(odd: Any, others: Any = lambda _: {}, **changes: Any) -> Script:
    """GPU 3 has links as ``odd`` says, all the others as ``others`` says."""

    def script(second: float) -> Changes:
        return Changes(
            gpus={
                index: {"nvlinks": nvlinks(second, **(odd if index == 3 else others)(second))}
                for index in range(GPUS)
            },
            **changes,
        )

    return script


Peers = Callable[[int, int], tuple[str | None, str | None]]


def reported(peers: Peers) -> GpuPathsReading:
    return GpuPathsReading(
        monotonic_seconds=BEGAN,
        peers=tuple(
            (one, two, *peers(one, two)) for one in range(GPUS) for two in range(one + 1, GPUS)
        ),
    )


def islands(
    pcie: float = 20e9,
    split: int = 4,
    second_job: bool = False,
    switch: str = "",
    peers: Peers | None = None,
    **gpu: Any,
) -> Script:
    """GPUs below ``split`` are linked to each other, and those from there on too."""

    def ends(index: int) -> str:
        return switch or ("00000000:05:00.0" if index < split else "00000000:85:00.0")

    def script(second: float) -> Changes:
        gpus = {
            index: {
                "nvlinks": tuple(
                    NvlinkReading(
                        link=link,
                        active=True,
                        remote="switch",
                        remote_pci_bus_id=ends(index),
                        stamp_seconds=BEGAN + second,
                    )
                    for link in range(4)
                ),
                "pcie_rx_bytes": int(pcie * (BEGAN + second)),
                "pcie_tx_bytes": int(pcie * (BEGAN + second)),
                **gpu,
            }
            for index in range(GPUS)
        }
        return Changes(
            gpus=gpus,
            topology=TopologyReading(monotonic_seconds=BEGAN),
            gpu_paths=reported(peers) if peers else None,
            probes=[probe(index, second, "forward", 0.1) for index in range(GPUS)],
            without_job=second_job,
        )

    return script
