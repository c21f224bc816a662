"""Low utilization, with what the evidence points to."""

from __future__ import annotations

from typing import Any

import pytest

from support.rules_scenes import (
    Changes,
    always,
    evidence,
    play,
)
from support.scene_readings import BEGAN, GPUS, IDLE, LOW, SPINNING, probe, rank_pid, worker_pid


def resting(second: float, **more: Any) -> dict[str, Any]:
    """A process that has used no CPU since the start."""
    return {"cpu_seconds": 0.0 * second, "state": "S", **more}


def busy(second: float, cores: float) -> dict[str, Any]:
    return {"cpu_seconds": cores * (BEGAN + second)}


def test_utilization_low_on_one_gpu() -> None:
    found = play(always(gpus={3: LOW}), 31, interval=2.0).one("HW210")
    assert (found.subject.gpu, found.subject.rank, found.severity) == (3, 3, "warning")
    assert found.name == "utilization low"
    own, against = (each for each in found.evidence if each.signal == "sm_active_ratio")
    assert own.value == pytest.approx(0.25)
    assert (own.threshold, own.comparison) == (0.35, "<")
    assert against.threshold == pytest.approx(0.85)
    assert against.comparison == "against"
    assert evidence(found, "rank_cpu_cores").value == pytest.approx(1.1)
    assert evidence(found, "loader_workers").value == 1


def test_peers_that_are_alike_are_not_reported() -> None:
    for found in play(always(every_gpu=LOW), 31, interval=2.0).all("HW210"):
        assert not [each for each in found.evidence if each.comparison == "against"]


def test_utilization_that_is_merely_not_good_is_information() -> None:
    found = play(always(gpus={3: {**LOW, "sm_active_ratio": 0.5}}), 31, interval=2.0).one("HW210")
    assert (found.severity, evidence(found, "sm_active_ratio").threshold) == ("info", 0.7)


def test_kernels_that_fill_the_chip_in_part_are_no_matter_of_launching() -> None:
    found = play(always(gpus={3: {"sm_active_ratio": 0.6}}), 31, interval=2.0).one("HW210")
    assert "fill the chip only in part" in found.next_step
    assert found.name == "SM activity low", "its utilization is full"


def test_without_sm_activity_utilization_is_judged() -> None:
    old = {"utilization_ratio": 0.3, "sm_active_ratio": None}
    found = play(always(every_gpu=old), 31, interval=2.0).all("HW210")
    assert len(found) == GPUS
    assert evidence(found[0], "utilization_ratio").value == pytest.approx(0.3)


@pytest.mark.parametrize(
    "change",
    [
        {**LOW, "sm_active_ratio": 0.71},
        {"utilization_ratio": 0.71, "sm_active_ratio": None},
        {"utilization_ratio": None, "sm_active_ratio": None},
        {**LOW, "monotonic_seconds": -60.0},
        {**LOW, "lost": True},
    ],
    ids=["good enough", "good enough by utilization", "unknown", "stale", "lost"],
)
def test_utilization_not_low(change: dict[str, Any]) -> None:
    assert "HW210" not in play(always(gpus={3: change}), 40, interval=2.0).ever()


def test_an_idle_gpu_without_a_job_is_free_not_low() -> None:
    assert play(always(without_job=True, every_gpu=IDLE), 40, interval=2.0).ever() == set()


def test_a_dip_of_ten_seconds_is_not_low_utilization() -> None:
    def script(second: float) -> Changes:
        return Changes(every_gpu=IDLE if 40 <= second < 50 else {})

    assert play(script, 100).ever() == set()


def test_what_was_low_is_not_found_after_its_end() -> None:
    def script(second: float) -> Changes:
        return Changes(every_gpu=IDLE if 40 <= second < 62 else {})

    assert play(script, 120).ever() == set()


def test_a_saw_tooth_is_judged_by_its_mean() -> None:
    def script(second: float) -> Changes:
        return Changes(every_gpu=LOW if second % 6 < 5 else {})

    assert {found.severity for found in play(script, 60).all("HW210")} == {"info"}


@pytest.mark.parametrize("phase", ["startup", "compile", "checkpoint", "eval"])
def test_no_low_utilization_while_a_rank_of_the_job_does_something_rare(phase: str) -> None:
    def script(second: float) -> Changes:
        return Changes(every_gpu=IDLE, probes=[probe(0, second, phase, 20)])

    assert not {"HW210", "HW211"} & play(script, 45).ever()


def test_but_not_for_ever() -> None:
    def script(second: float) -> Changes:
        return Changes(every_gpu=LOW, probes=[probe(0, second, "checkpoint", 700)])

    assert "HW210" in play(script, 45).ids()


def test_a_rank_that_has_just_started_still_loads() -> None:
    young = {rank_pid(3): {"start_time_seconds": BEGAN - 30}}
    assert "HW210" not in play(always(gpus={3: LOW}, processes=young), 60).ever()


def computes(second: float) -> dict[str, Any]:
    """Counters of a rank whose own process fills a core."""
    return {"cpu_seconds": 1000.0 + 0.98 * second}


def test_without_a_probe_a_rank_that_computes_beside_an_idle_gpu_may_load_or_compile() -> None:
    young = BEGAN - 130

    def loads(second: float) -> Changes:
        changed = {"start_time_seconds": young, **computes(second)}
        return Changes(every_gpu=IDLE, processes={rank_pid(rank): changed for rank in range(GPUS)})

    def compiles(second: float) -> Changes:
        changed = {rank_pid(rank): computes(second) for rank in range(GPUS)}
        return Changes(every_gpu=IDLE if second >= 20 else {}, processes=changed)

    assert "HW210" not in play(loads, 400).ever()
    assert "HW210" not in play(compiles, 130).ever()
    assert "HW210" in play(compiles, 200).ids(), "it takes long for that"


def test_one_that_the_others_work_or_wait_without_is_judged() -> None:
    def script(second: float) -> Changes:
        return Changes(gpus={3: IDLE}, processes={rank_pid(3): computes(second)})

    assert play(script, 60).one("HW210").subject.gpu == 3


def test_steps_that_leave_the_gpu_idle_are_neither() -> None:
    def script(second: float) -> Changes:
        return Changes(
            gpus={3: IDLE if second % 4 < 3 else LOW}, processes={rank_pid(3): computes(second)}
        )

    assert "HW210" in play(script, 60).ids()


def test_the_probe_tells_that_a_young_rank_trains_already() -> None:
    def script(second: float) -> Changes:
        reported = probe(3, second, "data", 2)
        return Changes(gpus={3: LOW}, probes=[reported])

    assert evidence(play(script, 31).one("HW210"), "phase").value == "data"


def step_of(script: Any, gpu: int = 3) -> str:
    found = [each for each in play(script, 45).all("HW210") if each.subject.gpu == gpu]
    assert len(found) == 1
    return found[0].next_step


def test_workers_at_a_full_core_are_a_loader_bound_by_cpu() -> None:
    def script(second: float) -> Changes:
        return Changes(gpus={3: LOW}, every_worker=busy(second, 0.98))

    assert "workers are CPU-bound" in step_of(script)


def test_io_pressure_is_storage() -> None:
    def script(second: float) -> Changes:
        moment = BEGAN + second
        return Changes(gpus={3: LOW}, host={"pressure_io_some_seconds": 0.3 * moment})

    assert "Storage" in step_of(script)


def test_workers_in_d_are_storage() -> None:
    assert "Storage" in step_of(always(gpus={3: LOW}, every_worker={"state": "D"}))


def test_a_rank_at_a_full_core_is_launch_bound() -> None:
    assert "launch-bound" in step_of(always(gpus={3: LOW}))


def test_all_idle_beside_busy_peers() -> None:
    def script(second: float) -> Changes:
        processes = {pid: resting(second) for pid in (rank_pid(3), worker_pid(3))}
        spinning = {index: {**SPINNING, "sm_active_ratio": None} for index in range(GPUS)}
        low = {**LOW, "sm_active_ratio": None}
        return Changes(gpus={**spinning, 3: low}, processes=processes)

    assert "while its peers are busy" in step_of(script)


def test_all_idle_everywhere() -> None:
    def script(second: float) -> Changes:
        processes = {rank_pid(index): resting(second) for index in range(GPUS)}
        return Changes(every_gpu=LOW, processes=processes, every_worker=resting(second))

    assert "waits for the network or another rank" in step_of(script)


def test_a_counter_stuck_at_zero_is_not_believed() -> None:
    assert play(always(every_gpu={"sm_active_ratio": 0.0}), 45, interval=2.0).ever() == set()


SERVERS: list[dict[str, Any]] = [
    {"command": ("python", "-m", "vllm.entrypoints.openai.api_server", "--model", "m")},
    {"command": ("/opt/tritonserver/bin/tritonserver", "--model-repository=/m")},
    {"command": ("python3", "-m", "ipykernel_launcher", "-f", "kernel-1.json")},
    {"name": "sglang::schedul", "command": ("sglang::scheduler_TP0",)},
    {"wait_channel": "do_epoll_wait", "state": "S", "cpu_seconds": 0.0},
]
TRAINS: list[dict[str, Any]] = [
    {"command": ("python", "train.py", "--config", "c.yaml", "--model", "vllm-tuned")},
    {"wait_channel": "futex_wait_queue", "state": "S", "cpu_seconds": 0.0},
    {"wait_channel": "do_epoll_wait", "state": "S"},
]


@pytest.mark.parametrize("process", SERVERS)
def test_a_server_has_little_to_do_while_nobody_asks(process: dict[str, Any]) -> None:
    found = play(always(every_gpu=LOW, processes={rank_pid(3): process}), 40, interval=2.0)
    severities = {each.subject.gpu: each.severity for each in found.all("HW210")}
    assert severities[3] == "info" and severities[4] == "warning"


@pytest.mark.parametrize("process", TRAINS)
def test_what_is_no_server_is_judged_as_before(process: dict[str, Any]) -> None:
    found = play(always(every_gpu=LOW, processes={rank_pid(3): process}), 40, interval=2.0)
    assert {each.severity for each in found.all("HW210")} == {"warning"}


def test_a_gpu_in_slices_is_not_judged_by_counters_of_the_whole() -> None:
    script = always(gpus={3: {**LOW, "mig_mode": True}})
    assert {each.subject.gpu for each in play(script, 40, interval=2.0).all("HW210")} == set()
