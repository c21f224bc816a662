"""Thread pools that crowd a job's cores, and crowds that somebody else or too few cores bring about."""

from __future__ import annotations

from typing import Any

import pytest

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import BEGAN, GPUS, LAUNCHER, WORKERS, rank_pid, worker_pid

CORES = 32


def crowds(
    *,
    used: float = 30.0,
    others: float = 1.0,
    delay: float = 0.3,
    threads: int = 60,
    variables: dict[str, str] | None = None,
    cpus: int = CORES,
    throttled: float = 0.0,
) -> Script:
    """Eight ranks on a node of 32 cores that keep so many of them busy."""
    pids = [*map(rank_pid, range(GPUS)), *(worker_pid(each) for each in range(GPUS)), LAUNCHER]
    each = used / GPUS

    def script(second: float) -> Changes:
        moment = BEGAN + second
        environment = {"WORLD_SIZE": "8", "MASTER_PORT": "29500", **(variables or {})}
        processes: dict[int, dict[str, Any]] = {
            pid: {"allowed_cpus": cpus, "cpu_seconds": 0.0} for pid in pids
        }
        for rank in range(GPUS):
            processes[rank_pid(rank)] |= {
                "threads": threads,
                "cpu_seconds": each * moment,
                "run_delay_seconds": delay * moment,
                "environment": {**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            }
        return Changes(
            processes=processes,
            host={
                "cpus": cpus,
                "cpu_busy_seconds": (used + others) * moment,
                "cpu_total_seconds": cpus * moment,
                "pressure_cpu_some_seconds": 0.5 * moment,
            },
            cgroup={
                "cpu_periods": int(10 * moment),
                "cpu_throttled_periods": int(10 * throttled * moment),
            },
        )

    return script


def test_pools_without_a_limit_crowd_the_cores() -> None:
    found = play(crowds(), 45).one("HST131")
    assert (found.subject.kind, found.severity) == ("job", "warning")
    assert evidence(found, "run_delay_ratio").value == pytest.approx(0.3)
    assert evidence(found, "threads").value == GPUS * (60 + WORKERS) + 1
    assert evidence(found, "threads").threshold == 2.0 * CORES
    assert evidence(found, "setting").value == "OMP_NUM_THREADS: not set"
    assert found.price.lost_ratio == pytest.approx(0.3)
    assert "OMP_NUM_THREADS=4 " in found.next_step


def test_a_limit_that_is_too_high_is_none() -> None:
    found = play(crowds(variables={"OMP_NUM_THREADS": "32"}), 45).one("HST131")
    assert evidence(found, "setting").value == "OMP_NUM_THREADS: 32"


def test_it_is_told_once() -> None:
    assert play(crowds(), 45).ids() & {"HST111", "HST131", "ENV602"} == {"HST131"}


@pytest.mark.parametrize(
    "changes",
    [
        {"delay": 0.03},
        {"threads": 5},
        {"variables": {"OMP_NUM_THREADS": "4"}},
        {"variables": {"OMP_NUM_THREADS": "4,1"}},
        {"variables": {"MKL_NUM_THREADS": "1"}},
        {"used": 12.0},
        {"used": 14.0, "others": 17.0},
        {"used": 24.0, "others": 8.0},
        {"throttled": 0.4},
    ],
    ids=[
        *("nobody waits", "few threads", "limited", "limited by level", "limited by MKL"),
        *("cores are free", "neighbors", "a neighbor too", "a quota"),
    ],
)
def test_near_misses(changes: dict[str, Any]) -> None:
    assert "HST131" not in play(crowds(**changes), 45).ever()


def test_too_few_cores_are_told_as_that() -> None:
    ids = play(crowds(cpus=16, used=15.0, others=0.5), 45).ids()
    assert "HST111" in ids and "HST131" not in ids


def test_an_environment_that_cannot_be_read_leaves_it_open() -> None:
    whole = crowds()

    def hidden(second: float) -> Changes:
        changes = whole(second)
        changes.processes = {
            pid: {**fields, "environment": {}} for pid, fields in changes.processes.items()
        }
        changes.every_worker = {"environment": {}}
        return changes

    assert "HST131" not in play(hidden, 45).ever()
