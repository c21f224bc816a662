"""Fewer cores than ranks and workers need."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gputop.probes.model.host_readings import CpuUser, PressureReading

from support.rules_scenes import (
    Changes,
    Script,
    always,
    evidence,
    play,
)
from support.scene_readings import BEGAN, GPUS, JOB_GROUP, LAUNCHER, process, rank_pid


def test_too_few_cores_by_the_mask_that_all_share() -> None:
    pids = [LAUNCHER, *map(rank_pid, range(GPUS))]
    found = play(
        always(processes={pid: {"allowed_cpus": 16} for pid in pids}), 31, interval=2.0
    ).one("HST111")
    assert (found.subject.kind, found.severity) == ("job", "info")
    cores = evidence(found, "available_cpu_cores")
    assert (cores.value, cores.threshold, cores.comparison) == (16, 20, "<")


def test_too_few_cores_by_the_mask_of_each() -> None:
    masks = {rank_pid(index): {"allowed_cpus": 1} for index in range(GPUS)}
    found = play(always(processes=masks), 31, interval=2.0).one("HST111")
    assert evidence(found, "available_cpu_cores").value == 8
    assert evidence(found, "allowed_cpus").value == 1


def test_too_few_cores_by_the_quota() -> None:
    found = play(always(cgroup={"cpu_quota_cores": 12.0}), 31, interval=2.0).one("HST111")
    assert evidence(found, "available_cpu_cores").value == 12


def test_too_few_cores_that_ranks_wait_for_is_a_warning() -> None:
    def script(second: float) -> Changes:
        waits = {"run_delay_seconds": 0.2 * (BEGAN + second)}
        return Changes(
            cgroup={"cpu_quota_cores": 12.0},
            processes={rank_pid(index): waits for index in range(GPUS)},
        )

    found = play(script, 40).one("HST111")
    assert found.severity == "warning"
    assert evidence(found, "run_delay_ratio").value == pytest.approx(0.2)


@pytest.mark.parametrize(
    "script",
    [
        always(cgroup={"cpu_quota_cores": 20.0}),
        always(processes={rank_pid(index): {"allowed_cpus": 12} for index in range(GPUS)}),
        always(
            processes={rank_pid(index): {"allowed_cpus": None} for index in range(GPUS)},
            host={"cpus": None},
        ),
        always(without_job=True, host={"cpus": 2}),
    ],
    ids=["just enough", "side by side", "unknown", "no job"],
)
def test_enough_cores(script: Script) -> None:
    assert "HST111" not in play(script, 35).ever()


def pressed(job: float | None, node: float) -> Script:
    """All share 16 cores; the job's group, and the node, wait for so large a share of the time."""
    masks = {pid: {"allowed_cpus": 16} for pid in (LAUNCHER, *map(rank_pid, range(GPUS)))}

    def script(second: float) -> Changes:
        moment = BEGAN + second
        waited = None if job is None else job * moment
        group = PressureReading(
            path=JOB_GROUP, monotonic_seconds=moment, pressure_cpu_some_seconds=waited
        )
        host = {"pressure_cpu_some_seconds": node * moment}
        return Changes(processes=masks, pressures=(group,), host=host)

    return script


@pytest.mark.parametrize(
    ("job", "node", "severity", "signal"),
    [
        (0.4, 0.0, "warning", "cgroup_pressure_cpu_ratio"),
        (0.0, 0.4, "info", "cgroup_pressure_cpu_ratio"),
        (None, 0.4, "warning", "pressure_cpu_ratio"),
        (None, 0.0, "info", "pressure_cpu_ratio"),
    ],
    ids=["the job waits", "others wait", "not known of the job", "nobody waits"],
)
def test_whether_the_job_itself_waits_for_cores(
    job: float | None, node: float, severity: str, signal: str
) -> None:
    found = play(pressed(job, node), 36).one("HST111")
    assert found.severity == severity
    waited = evidence(found, signal)
    assert waited.value == pytest.approx(node if job is None else job)
    assert waited.mean_seconds == 30.0


def off_the_gpu(cores: float, delay: float = 0.0) -> Script:
    """One process of no launcher and on no GPU, that keeps so many of its two cores busy."""

    def script(second: float) -> Changes:
        alone = process(
            4000,
            BEGAN + second,
            command=("sleep", "300"),
            attached=True,
            cpu_seconds=cores * (BEGAN + second),
            run_delay_seconds=delay * (BEGAN + second),
        )
        # Others on the node want more cores than there are.
        host = {"cpus": 2, "pressure_cpu_some_seconds": 0.5 * (BEGAN + second)}
        return Changes(without_job=True, more_processes=(alone,), host=host)

    return script


def test_a_process_that_sleeps_needs_no_cores() -> None:
    played = play(off_the_gpu(0.0), 40)
    assert [job.ranks[0].pid for job in played.last.frame.jobs] == [4000]
    assert not any(each.id == "HST111" for each in played.last.findings)


@pytest.mark.parametrize(("cores", "delay"), [(1.6, 0.0), (0.4, 0.2)])
def test_a_process_that_fills_its_cores_or_waits_for_one(cores: float, delay: float) -> None:
    found = play(off_the_gpu(cores, delay), 40).one("HST111")
    assert found.severity == "warning"
    assert evidence(found, "used_cpu_cores").value == pytest.approx(cores)


def beside(
    others: float,
    *,
    own: float = 0.1,
    delay: float = 0.4,
    cpus: int = 2,
    allowed: int = 2,
    users: Sequence[CpuUser] | None = None,
    throttled: float = 0.0,
) -> Script:
    """Two ranks without workers that wait for a core, beside others who use so many."""

    def script(second: float) -> Changes:
        moment = BEGAN + second
        ranks = [
            process(
                4000 + rank,
                moment,
                environment={"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"},
                command=("python", "train.py"),
                parent_pid=LAUNCHER,
                cpu_seconds=own * moment,
                run_delay_seconds=delay * moment,
                allowed_cpus=allowed,
            )
            for rank in range(2)
        ]
        command = ("python", "/usr/bin/torchrun", "--nproc-per-node", "2", "train.py")
        torchrun = process(
            LAUNCHER, moment, command=command, attached=True, cpu_seconds=0.0, allowed_cpus=allowed
        )
        ranks.append(torchrun)
        host = {
            "cpus": cpus,
            "cpu_busy_seconds": (others + 2 * own) * moment,
            "cpu_total_seconds": cpus * moment,
            "pressure_cpu_some_seconds": 0.9 * moment,
            "cpu_users": None if users is None else tuple(users),
        }
        cgroup = {
            "cpu_periods": int(10 * moment),
            "cpu_throttled_periods": int(10 * throttled * moment),
        }
        return Changes(without_job=True, more_processes=ranks, host=host, cgroup=cgroup)

    return script


def user(pid: int, cores: float, name: str = "stress-ng") -> CpuUser:
    return CpuUser(pid=pid, start_time_seconds=1.0, name=name, cores=cores)


def test_neighbors_that_take_the_cores_are_named_and_the_job_is_not_at_fault() -> None:
    users = [user(71, 0.9), user(72, 0.8), user(4000, 0.1, "python"), user(73, 0.1), user(74, 0.05)]
    found = play(beside(1.8, users=users), 45).one("HST111")
    assert (found.name, found.subject.kind, found.severity) == (
        "cores taken by others",
        "host",
        "warning",
    )
    assert evidence(found, "taken_by").value == (
        "pid 71 stress-ng 0.9 cores, pid 72 stress-ng 0.8 cores, pid 73 stress-ng 0.1 cores and 1 more"
    )
    assert "more cores" not in found.next_step
    assert "pid 71" in found.next_step


def test_neighbors_that_hardly_slow_it_are_information() -> None:
    found = play(beside(1.8, delay=0.1), 45).one("HST111")
    assert (found.name, found.severity) == ("cores taken by others", "info")


def test_neighbors_of_whom_nothing_is_known_are_other_processes() -> None:
    found = play(beside(1.8, users=[]), 45).one("HST111")
    assert evidence(found, "taken_by").value == "other processes"


def test_neighbors_on_the_cores_of_its_mask_while_the_rest_of_the_node_is_idle() -> None:
    found = play(beside(4.0, cpus=64, allowed=2), 45).one("HST111")
    assert found.name == "cores taken by others"


@pytest.mark.parametrize(
    "script",
    [
        beside(0.1, own=0.9),
        beside(1.2, own=0.9, cpus=3, allowed=2),
        beside(1.8, throttled=0.5),
        beside(40.0, cpus=96, allowed=96),
    ],
    ids=["uses them itself", "uses its mask", "stopped by its own quota", "idle cores are left"],
)
def test_nobody_else_is_blamed(script: Script) -> None:
    found = play(script, 45).all("HST111")
    assert all(each.name == "too few cores" for each in found)


def test_a_job_that_needs_more_than_it_has_is_told_so_itself() -> None:
    found = play(beside(0.1, own=0.9), 45).one("HST111")
    assert (found.name, found.severity, found.subject.kind) == ("too few cores", "warning", "job")


def test_neighbors_who_do_not_slow_a_job_that_fits_are_nothing() -> None:
    assert "HST111" not in play(beside(90.0, cpus=96, allowed=96, delay=0.0), 45).ever()
