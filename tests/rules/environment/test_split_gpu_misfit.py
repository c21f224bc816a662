"""GPUs that are split or shared in a way that does not go with what runs on them."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.gpu_readings import GpuProcessReading, MigReading

from support.rules_scenes import always, evidence, play
from support.scene_readings import rank_pid, worker_pid

HALVES = tuple(
    MigReading(index=at, name="MIG 3g.40gb", gpu_instance=at + 1, compute_instance=0)
    for at in range(2)
)


def on(pid: int, instance: int | None = None, kind: Any = "compute") -> GpuProcessReading:
    return GpuProcessReading(pid=pid, memory_bytes=1 << 30, gpu_instance=instance, kind=kind)


def split(*processes: GpuProcessReading, migs: tuple[MigReading, ...] = HALVES) -> dict[str, Any]:
    return {"mig_mode": True, "migs": migs, "processes": processes}


def test_a_process_on_the_parent() -> None:
    found = play(always(gpus={2: split(on(rank_pid(2)))}), 30).one("ENV604")
    assert (found.subject.gpu, found.severity) == (2, "info")
    assert evidence(found, "outside_instances").value == f"pid {rank_pid(2)}"
    assert found.price.reason


def test_mig_without_instances() -> None:
    found = play(always(gpus={2: split(migs=())}), 30).one("ENV604")
    assert evidence(found, "mig_instances").value == "none"


def test_two_ranks_of_a_job_on_one_gpu() -> None:
    both = split(on(rank_pid(2), 1), on(rank_pid(3), 2))
    found = play(always(gpus={2: both, 3: {"processes": ()}}), 30).one("ENV604")
    told = evidence(found, "ranks_on_instances").value
    assert told == "rank 2 in instance 1, rank 3 in instance 2"


def test_several_clients_of_mps() -> None:
    clients = (on(rank_pid(2), kind="mps"), on(worker_pid(2), kind="mps"))
    found = play(always(gpus={2: {"processes": clients}}), 30).one("ENV604")
    assert evidence(found, "mps_clients").value == 2.0
    assert str(rank_pid(2)) in str(evidence(found, "mps_client_pids").value)


@pytest.mark.parametrize(
    "gpu",
    [
        split(on(rank_pid(2), 1), on(9999, 2)),
        split(on(rank_pid(2), 1), on(4711, kind="graphics")),
        {**split(on(rank_pid(2), 1), migs=()), "missing": {"migs": "no permission"}},
        {"processes": (on(rank_pid(2), kind="mps"),)},
        {"processes": (on(rank_pid(2)), on(worker_pid(2)))},
    ],
    ids=["an instance each", "a display", "instances not told", "one client", "no MPS"],
)
def test_near_misses(gpu: dict[str, Any]) -> None:
    assert "ENV604" not in play(always(gpus={2: gpu}), 30).ever()
