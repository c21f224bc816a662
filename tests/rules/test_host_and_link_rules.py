"""D state, swap, CPU quota, cores, and the PCIe link."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

from gputop.probes.model.host_readings import PressureReading
from gputop.probes.model.rank_readings import BlockedFile
from gputop.rules.causes import with_causes
from gputop.rules.finding import Finding, Subject
from gputop.rules.host._wait_channels import wait_of
from gputop.rules.host.process_in_d_state import ProcessInDState

from support.rules_scenes import (
    BEGAN,
    GPUS,
    IDLE,
    JOB_GROUP,
    LAUNCHER,
    Changes,
    Script,
    always,
    evidence,
    play,
    process,
    rank_pid,
    worker_pid,
)

WORKER = worker_pid(3)
SOON = {"HST107": {"error_seconds": 40.0}}


def ids(findings: Iterable[Finding]) -> set[str]:
    return {finding.id for finding in findings}


def in_d(wait_channel: str | None = "rpc_wait_bit_killable", **more: Any) -> Script:
    return always(processes={WORKER: {"state": "D", "wait_channel": wait_channel, **more}})


def test_process_in_d_state() -> None:
    found = play(in_d(), 31).one("HST107")
    assert (found.subject.kind, found.subject.rank, found.severity) == ("process", 3, "warning")
    assert evidence(found, "wait_channel").value == "rpc_wait_bit_killable"
    assert evidence(found, "waits for").value == "network file system"
    assert "file server" in found.next_step


def test_the_mount_on_which_it_waits_is_named() -> None:
    file = BlockedFile(
        call="reads",
        path="/data/shard-7.tar",
        mount_point="/data",
        file_system="nfs4",
        device="filer:/export",
    )
    found = play(in_d(blocked_on=file), 31).one("HST107")
    assert evidence(found, "file").value == "reads /data/shard-7.tar"
    assert evidence(found, "mount").value == "/data (nfs4, filer:/export)"
    assert found.next_step.startswith("It waits for /data (nfs4, filer:/export). Check the file")


def test_stuck_in_one_wait_for_minutes_is_an_error() -> None:
    found = play(in_d(voluntary_switches=10), 75, overrides=SOON).one("HST107")
    assert found.severity == "error"


def test_many_short_waits_for_minutes_are_none() -> None:
    assert play(in_d(), 75, overrides=SOON).one("HST107").severity == "warning"


def switching(per_second: float, in_d_at: Callable[[float], bool]) -> Script:
    """A worker that switches context so often, and is met in D at some looks."""

    def script(second: float) -> Changes:
        state = "D" if in_d_at(second) else "S"
        worker = {"state": state, "voluntary_switches": int(10 + per_second * second)}
        return Changes(processes={WORKER: worker})

    return script


def test_short_waits_are_not_suspected_before_many_looks_in_a_row_have_met_them() -> None:
    often = play(switching(80.0, lambda second: second % 3 != 0), 60)
    assert not any(each.id == "HST107" for judged in often.judgements for each in judged.findings)
    always_so = play(switching(80.0, lambda _: True), 31)
    suspected = ["HST107" in ids(judged.pending) for judged in always_so.judgements]
    assert suspected.index(True, 1) == 18, "the first look alone cannot tell whether it goes on"
    assert always_so.active_from("HST107") == 30.0


def test_one_long_wait_is_suspected_at_once() -> None:
    played = play(switching(0.0, lambda second: second >= 3.0), 5)
    assert "HST107" in ids(played.judgements[3].pending)


def test_a_finding_outlasts_one_look_between_two_waits() -> None:
    played = play(switching(80.0, lambda second: second != 40.0), 75)
    assert all("HST107" in ids(judged.active) for judged in played.judgements[30:])


def test_a_blocked_worker_explains_that_its_rank_is_late() -> None:
    worker, late = (
        Subject(kind="process", id="2030@5.0", rank=3, job="job"),
        Subject(kind="rank", id="job 1003", rank=3, gpu=3, job="job"),
    )
    other = msgspec.structs.replace(late, id="job 1004", rank=4, gpu=4)
    active = [
        Finding(
            id=id_,
            name=id_,
            severity="warning",
            subject=subject,
            state="active",
            since_seconds=0.0,
            seen_seconds=40.0,
        )
        for id_, subject in (("HST107", worker), ("RUN407", late), ("RUN407", other))
    ]
    found = with_causes(active, {"HST107": ProcessInDState.explains}, {"HST107"})
    explained = {each.subject.rank: each.explained_by for each in found if each.id == "RUN407"}
    assert explained[3] is not None and explained[3].id == "HST107"
    assert explained[4] is None


def test_d_state_must_last() -> None:
    def script(second: float) -> Changes:
        return Changes(processes={WORKER: {"state": "D" if second % 20 else "S"}})

    assert "HST107" not in play(script, 62).ever()


@pytest.mark.parametrize(
    "change",
    [{"state": None}, {"state": "S"}, {"state": "D", "monotonic_seconds": -60.0}],
    ids=["unknown", "asleep", "stale"],
)
def test_not_in_d_state(change: dict[str, Any]) -> None:
    assert "HST107" not in play(always(processes={WORKER: change}), 35, interval=2.0).ever()


def test_a_process_of_nobody_is_not_judged() -> None:
    def script(second: float) -> Changes:
        return Changes(more_processes=[process(5, BEGAN + second, state="D", command=("cp",))])

    assert "HST107" not in play(script, 35).ever()


@pytest.mark.parametrize(
    ("wait_channel", "wait"),
    [
        ("nfs4_wait_clnt_recover", "network file system"),
        ("__fuse_request_send", "network file system"),
        ("nvidia_ioctl", "NVIDIA driver"),
        ("uvm_va_block_wait", "NVIDIA driver"),
        ("folio_wait_bit_common", "disk"),
        ("mlx5_cmd_exec", "RDMA"),
        ("ep_poll", "unknown"),
        (None, "unknown"),
    ],
)
def test_what_a_wait_channel_says(wait_channel: str | None, wait: str) -> None:
    assert wait_of(wait_channel) == wait


def swapping(rate: float, **more: Any) -> Script:
    return lambda second: Changes(host={"swap_in_bytes": int(rate * (BEGAN + second)), **more})


def test_swapping_in() -> None:
    found = play(swapping(5e6), 7).one("HST109")
    assert (found.subject.kind, found.severity) == ("host", "warning")
    rate = evidence(found, "swap_in_bytes_per_second")
    assert rate.value == pytest.approx(5e6)
    assert rate.threshold == 1e6


@pytest.mark.parametrize(
    "script",
    [
        swapping(0.9e6),
        always(host={"swap_in_bytes": None}),
        always(host={"swap_in_bytes": 10**12}),
        always(host=None),
        lambda second: Changes(
            host={"swap_in_bytes": int(5e6 * second), "monotonic_seconds": BEGAN + min(second, 2)}
        ),
    ],
    ids=["little", "unknown", "long ago", "no host", "stale"],
)
def test_not_swapping_in(script: Script) -> None:
    assert "HST109" not in play(script, 15).ever()


def test_swapping_in_explains_low_utilization() -> None:
    def script(second: float) -> Changes:
        changes = swapping(5e6)(second)
        changes.every_gpu = IDLE
        return changes

    found = play(script, 45).all("HW210")
    assert {each.explained_by and each.explained_by.id for each in found} == {"HST109"}


def throttled(ratio: float, **more: Any) -> Script:
    def script(second: float) -> Changes:
        periods = int(10 * (BEGAN + second))
        group = {"cpu_throttled_periods": int(ratio * periods), "cpu_quota_cores": 40.0}
        return Changes(cgroup={**group, **more})

    return script


def test_cpu_throttling() -> None:
    found = play(throttled(0.2), 41).one("HST110")
    assert (found.subject.kind, found.subject.id, found.severity) == (
        "cgroup",
        JOB_GROUP,
        "warning",
    )
    assert found.subject.job is not None
    assert evidence(found, "throttled_ratio").value == pytest.approx(0.2, abs=0.02)
    assert evidence(found, "cpu_quota_cores").value == 40


def test_heavy_throttling_of_a_job_that_starves_is_an_error() -> None:
    def script(second: float) -> Changes:
        changes = throttled(0.5)(second)
        changes.every_gpu = {"utilization_ratio": 0.4, "sm_active_ratio": 0.3}
        return changes

    played = play(script, 45)
    assert played.one("HST110").severity == "error"
    low = played.all("HW210")
    assert len(low) == GPUS
    assert {each.explained_by and each.explained_by.id for each in low} == {"HST110"}


def test_heavy_throttling_of_a_job_that_does_well_is_a_warning() -> None:
    assert play(throttled(0.5), 41).one("HST110").severity == "warning"


@pytest.mark.parametrize(
    "script",
    [throttled(0.04), throttled(0.5, cpu_periods=None), throttled(0.5, monotonic_seconds=-60.0)],
    ids=["little", "unknown", "stale"],
)
def test_no_cpu_throttling(script: Script) -> None:
    assert "HST110" not in play(script, 45, interval=2.0).ever()


def test_a_burst_of_throttling_at_the_start_is_none() -> None:
    def script(second: float) -> Changes:
        done = int(10 * (BEGAN + min(second, 2)))
        return Changes(cgroup={"cpu_throttled_periods": done})

    # Its mean over half a minute stays above the limit for longer than it lasted.
    assert "HST110" not in play(script, 9).ever()


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


def test_pressure_in_the_group_is_evidence_of_its_throttling() -> None:
    def script(second: float) -> Changes:
        changes = throttled(0.2)(second)
        changes.pressures = pressed(0.6, 0.0)(second).pressures
        return changes

    waited = evidence(play(script, 41).one("HST110"), "pressure_cpu_ratio")
    assert waited.value == pytest.approx(0.6)
    without = play(throttled(0.2), 41).one("HST110")
    assert "pressure_cpu_ratio" not in {each.signal for each in without.evidence}


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


def test_pcie_link_degraded() -> None:
    found = play(always(gpus={5: {"pcie_width": 8}}), 31, interval=2.0).one("LNK501")
    assert (found.subject.kind, found.subject.id, found.subject.gpu) == ("link", "gpu5 pcie", 5)
    assert found.severity == "warning"
    width = evidence(found, "pcie_width")
    assert (width.value, width.threshold, width.comparison) == (8, 16, "<")


def test_a_link_that_is_low_on_all_is_the_board() -> None:
    found = play(always(every_gpu={"pcie_generation": 4}), 31, interval=2.0).all("LNK501")
    assert len(found) == GPUS
    assert {each.severity for each in found} == {"info"}


@pytest.mark.parametrize(
    "change",
    [
        {"pcie_generation": 1, "utilization_ratio": 0.1, "sm_active_ratio": None},
        {"pcie_generation": None},
        {"pcie_width": 8, "pcie_width_max": None},
        {"pcie_width": 1, "memory_total_bytes": None},
        {"pcie_width": 8, "monotonic_seconds": -60.0},
        {"pcie_width": 8, "lost": True},
    ],
    ids=["idle", "unknown", "limit unknown", "built in", "stale", "lost"],
)
def test_pcie_link_not_degraded(change: dict[str, Any]) -> None:
    assert "LNK501" not in play(always(gpus={5: change}), 40, interval=2.0).ever()


def test_a_link_that_trains_up_in_time_is_fine() -> None:
    def script(second: float) -> Changes:
        return Changes(gpus={5: {"pcie_generation": 1 if second % 29 < 26 else 5}})

    assert "LNK501" not in play(script, 62).ever()
