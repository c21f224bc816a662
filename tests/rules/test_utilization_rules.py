"""Low and utilization without work, with what the evidence points to."""

from __future__ import annotations

from typing import Any

import pytest

from support.rules_scenes import (
    BEGAN,
    GPUS,
    IDLE,
    SPINNING,
    Changes,
    always,
    evidence,
    play,
    probe,
    rank_pid,
    worker_pid,
)

LOW: dict[str, Any] = {"utilization_ratio": 0.3, "sm_active_ratio": 0.25, "power_watts": 210.0}


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
    assert evidence(found, "rank cpu_cores").value == pytest.approx(1.1)
    assert evidence(found, "loader workers").value == 1


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


def test_spinning_in_a_collective() -> None:
    found = play(always(every_gpu=SPINNING), 31, interval=2.0).all("HW211")
    assert [each.subject.gpu for each in found] == list(range(GPUS))
    first = found[0]
    assert first.severity == "error"
    assert evidence(first, "utilization_ratio").comparison == "≥"
    assert evidence(first, "sm_active_ratio").value == pytest.approx(0.03)
    assert evidence(first, "power of its limit").value == pytest.approx(141 / 700)
    assert (evidence(first, "power").value, evidence(first, "links").value) == ("flat", "silent")


def test_the_idle_one_explains_the_spinning_ones() -> None:
    spinning = {index: SPINNING for index in range(GPUS) if index != 3}
    played = play(always(gpus={**spinning, 3: IDLE}), 45, interval=2.0)
    assert played.one("HW210").subject.gpu == 3
    hollow = played.all("HW211")
    assert len(hollow) == GPUS - 1
    assert all(each.explained_by and each.explained_by.subject.gpu == 3 for each in hollow)


def test_without_work_by_power_alone() -> None:
    old = {"utilization_ratio": 1.0, "sm_active_ratio": None, "power_watts": 200.0}
    found = play(always(gpus={2: old}), 31, interval=2.0).one("HW211")
    assert (found.subject.gpu, found.severity) == (2, "warning")
    assert evidence(found, "links").value != "silent"


def moving_power(second: float) -> Changes:
    watts = 141.0 + 30 * (second % 2)
    return Changes(every_gpu={**SPINNING, "power_watts": watts})


def test_one_witness_is_no_error() -> None:
    assert {each.severity for each in play(moving_power, 31).all("HW211")} == {"warning"}


def test_where_all_gpus_are_alike_and_go_on_the_kernels_are_small() -> None:
    found = play(moving_power, 31).all("HW211")
    assert all("small kernels" in each.next_step for each in found)


def test_where_one_differs_it_is_to_be_looked_for() -> None:
    def script(second: float) -> Changes:
        watts = 141.0 + 30 * (second % 2)
        hollow = {index: {**SPINNING, "power_watts": watts} for index in range(GPUS) if index != 3}
        return Changes(gpus=hollow)

    found = play(script, 31).all("HW211")
    assert found
    assert all("differs from this one" in each.next_step for each in found)


def test_unknown_links_are_no_witness() -> None:
    links = dict.fromkeys(
        ("pcie_rx_bytes", "pcie_tx_bytes", "nvlink_rx_bytes", "nvlink_tx_bytes"), None
    )
    found = play(always(every_gpu={**SPINNING, **links}), 31, interval=2.0).all("HW211")
    assert {each.severity for each in found} == {"warning"}


def test_a_probe_that_goes_on_is_against_an_error() -> None:
    def script(second: float) -> Changes:
        probes = [probe(index, second, "comm", 0.4) for index in range(GPUS)]
        return Changes(every_gpu=SPINNING, probes=probes)

    assert {each.severity for each in play(script, 31).all("HW211")} == {"warning"}


@pytest.mark.parametrize(
    "change",
    [
        {**SPINNING, "utilization_ratio": 0.89},
        {**SPINNING, "sm_active_ratio": 0.36},
        {**SPINNING, "sm_active_ratio": None, "power_watts": 290.0},
        {**SPINNING, "sm_active_ratio": 0.1, "power_watts": 500.0},
        {**SPINNING, "utilization_ratio": None},
        {**SPINNING, "sm_active_ratio": None, "power_watts": None},
        {**SPINNING, "sm_active_ratio": None, "power_limit_watts": None},
        {**SPINNING, "monotonic_seconds": -60.0},
    ],
    ids=[
        "not busy",
        "sm active",
        "power not low",
        "power high",
        "no utilization",
        "no witness",
        "no limit",
        "stale",
    ],
)
def test_not_without_work(change: dict[str, Any]) -> None:
    assert "HW211" not in play(always(gpus={2: change}), 40, interval=2.0).ever()


def test_a_short_wait_in_a_collective_is_not_without_work() -> None:
    def script(second: float) -> Changes:
        return Changes(every_gpu=SPINNING if second % 30 < 15 else {})

    assert "HW211" not in play(script, 90).ever()
