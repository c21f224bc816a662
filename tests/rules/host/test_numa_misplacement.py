"""Ranks that run, or have their memory, far from their GPU."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.link_readings import PlacementReading, TopologyReading

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import BEGAN, GIB, GPUS, rank_pid


def placed(index: int, second: float, **fields: Any) -> PlacementReading:
    given: dict[str, Any] = {
        "monotonic_seconds": BEGAN + second,
        "pid": rank_pid(index),
        "start_time_seconds": 5001.0,
        "cpus": "0-47" if index < 4 else "48-95",
        "allowed_nodes": (index // 4,),
        "running_node": index // 4,
        "memory_bytes": {index // 4: 9 * GIB, 1 - index // 4: GIB},
    }
    return PlacementReading(**{**given, **fields})


def placing(odd: dict[str, Any], nodes: bool = True, **gpu: Any) -> Script:
    """Rank 2 is placed oddly."""

    def script(second: float) -> Changes:
        return Changes(
            gpus={
                index: {
                    **({"numa_node": index // 4} if nodes else {}),
                    **(gpu if index == 2 else {}),
                }
                for index in range(GPUS)
            },
            topology=TopologyReading(monotonic_seconds=BEGAN),
            placements=[
                placed(index, second, **(odd if index == 2 else {})) for index in range(GPUS)
            ],
        )

    return script


BOUND = {"cpus": "48-95", "allowed_nodes": (1,), "running_node": 1}


def test_a_rank_bound_to_the_other_socket() -> None:
    found = play(placing(BOUND, utilization_ratio=0.7), 45).one("HST117")
    assert (found.subject.kind, found.subject.rank, found.subject.gpu) == ("rank", 2, 2)
    assert (found.severity, evidence(found, "allowed_cpu_list").value) == ("warning", "48-95")


def test_where_the_gpu_is_busy_all_the_same_it_is_information() -> None:
    assert play(placing(BOUND), 45).one("HST117").severity == "info"


def test_a_rank_that_runs_on_the_other_socket_though_it_need_not() -> None:
    odd = {"allowed_nodes": (0, 1), "running_node": 1}
    found = play(placing(odd, utilization_ratio=0.7), 75).one("HST117")
    assert evidence(found, "runs_elsewhere_ratio").value == 1.0


def test_memory_on_the_other_socket() -> None:
    found = play(placing({"memory_bytes": {0: GIB, 1: 9 * GIB}}), 45).one("HST117")
    assert evidence(found, "memory_near_ratio").value == pytest.approx(0.1)


@pytest.mark.parametrize(
    "script",
    [
        placing({}),
        placing({"allowed_nodes": (0, 1)}),
        placing({"memory_bytes": None}),
        placing(BOUND, nodes=False),
        placing({"memory_bytes": {0: 6 * GIB, 1: 4 * GIB}}),
    ],
    ids=["bound well", "free", "memory not reported", "node not known", "mostly near"],
)
def test_placed_well(script: Script) -> None:
    assert "HST117" not in play(script, 75).ever()
