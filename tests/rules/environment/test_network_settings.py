"""RDMA cards that variables choose, against where cards and GPUs sit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gputop.probes.simulator.gpus import gpu_bus_id
from gputop.probes.simulator.links import device, gpu_paths, topology

from support.rules_scenes import Changes, Script, play
from support.scene_readings import GPUS, port, rank_pid

CARDS = 8


def chooses(
    cards: Callable[[int], str], *, world_size: int = 32, down: frozenset[int] = frozenset()
) -> Script:
    """Each rank's NCCL_IB_HCA, on a node where each GPU has a card on its own switch."""

    def script(second: float) -> Changes:
        return Changes(
            gpus={rank: {"pci_bus_id": gpu_bus_id(rank)} for rank in range(GPUS)},
            processes={
                rank_pid(rank): {
                    "environment": {
                        "RANK": str(rank),
                        "LOCAL_RANK": str(rank),
                        "WORLD_SIZE": str(world_size),
                        "OMP_NUM_THREADS": "1",
                        **({"NCCL_IB_HCA": cards(rank)} if cards(rank) else {}),
                    }
                }
                for rank in range(GPUS)
            },
            ports=[
                port(
                    second,
                    number,
                    device=device(number),
                    state="down" if number in down else "active",
                )
                for number in range(CARDS)
            ],
            topology=topology(),
            gpu_paths=gpu_paths(),
        )

    return script


def told(script: Script) -> list[str]:
    found = play(script, 20).all("ENV602")
    return [str(each.value) for finding in found for each in finding.evidence]


def test_the_card_of_another_socket() -> None:
    own = {0: device(7)}
    (line,) = told(chooses(lambda rank: own.get(rank, device(rank))))
    assert line.startswith(f"NCCL_IB_HCA={device(7)}: {device(7)} is SYS away from GPU 0, and ")
    assert f"{device(0)} P" in line and line.endswith("(rank 0)")


def test_one_card_for_all_is_far_from_the_others() -> None:
    lines = told(chooses(lambda _rank: f"={device(0)}:1"))
    assert len(lines) == GPUS - 1 and not any("GPU 0," in line for line in lines)


def test_cards_that_are_not_here_or_down() -> None:
    (line,) = told(chooses(lambda _rank: "bnxt_re"))
    assert "no such RDMA card" in line and "ranks 0" in line
    (line,) = told(chooses(lambda rank: device(3) if rank == 3 else "", down=frozenset({3})))
    assert "is down" in line


@pytest.mark.parametrize(
    "script",
    [
        chooses(device),
        chooses(lambda _rank: ""),
        chooses(lambda _rank: "mlx5"),
        chooses(lambda _rank: f"^{device(9)}"),
        chooses(lambda _rank: device(7), world_size=8),
        chooses(lambda rank: device(1) if rank == 0 else device(rank), down=frozenset({0})),
    ],
    ids=["its own", "unset", "all", "all but one", "one node", "its own is down"],
)
def test_near_misses(script: Script) -> None:
    assert told(script) == []
