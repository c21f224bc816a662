"""Fewer cores than ranks and workers need."""

from __future__ import annotations

import pytest

from gputop.probes.model.host_readings import PressureReading

from support.rules_scenes import (
    BEGAN,
    GPUS,
    JOB_GROUP,
    LAUNCHER,
    Changes,
    Script,
    always,
    evidence,
    play,
    process,
    rank_pid,
)


def test_too_few_cores_by_the_mask_that_all_share() -> None:
    pids = [LAUNCHER, *map(rank_pid, range(GPUS))]
    found = play(
        always(processes={pid: {"allowed_cpus": 16} for pid in pids}), 31, interval=2.0
    ).one("HST111")
    assert (found.subject.kind, found.severity) == ("job", "info")
    cores = evidence(found, "cores available")
    assert (cores.value, cores.threshold, cores.comparison) == (16, 20, "<")


def test_too_few_cores_by_the_mask_of_each() -> None:
    masks = {rank_pid(index): {"allowed_cpus": 1} for index in range(GPUS)}
    found = play(always(processes=masks), 31, interval=2.0).one("HST111")
    assert evidence(found, "cores available").value == 8
    assert evidence(found, "allowed_cpus").value == 1


def test_too_few_cores_by_the_quota() -> None:
    found = play(always(cgroup={"cpu_quota_cores": 12.0}), 31, interval=2.0).one("HST111")
    assert evidence(found, "cores available").value == 12


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
        (0.4, 0.0, "warning", "CPU pressure of its group"),
        (0.0, 0.4, "info", "CPU pressure of its group"),
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
    assert evidence(found, "cores used").value == pytest.approx(cores)
