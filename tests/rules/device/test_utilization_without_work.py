"""Utilization without work, with what the evidence points to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.rules_scenes import (
    Changes,
    always,
    evidence,
    play,
)
from support.scene_readings import GPUS, IDLE, SPINNING, probe, rank_pid


def test_spinning_in_a_collective() -> None:
    found = play(always(every_gpu=SPINNING), 31, interval=2.0).all("HW211")
    assert [each.subject.gpu for each in found] == list(range(GPUS))
    first = found[0]
    assert first.severity == "error"
    assert evidence(first, "utilization_ratio").comparison == "≥"
    assert evidence(first, "sm_active_ratio").value == pytest.approx(0.03)
    assert evidence(first, "power_ratio").value == pytest.approx(141 / 700)
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


def test_of_a_server_small_kernels_are_information() -> None:
    """Decoding fills little of the chip by nature."""

    def script(second: float) -> Changes:
        server = {"command": ("python", "-m", "vllm.entrypoints.openai.api_server", "--model", "m")}
        return replace(moving_power(second), processes={rank_pid(3): server})

    severities = {each.subject.gpu: each.severity for each in play(script, 31).all("HW211")}
    assert severities[3] == "info" and severities[4] == "warning"


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


LATCHED = {
    "utilization_ratio": 1.0,
    "sm_active_ratio": None,
    "memory_used_bytes": 500 << 20,
    "power_watts": 70.0,
    "processes": (),
}


def test_a_counter_that_is_stuck_is_no_fault_of_a_job() -> None:
    found = play(always(without_job=True, gpus={2: LATCHED}), 45, interval=2.0).one("HW211")
    assert (found.name, found.severity) == ("utilization counter stuck", "info")
    assert (found.subject.gpu, found.subject.job) == (2, None)
    assert evidence(found, "processes").value == "none, and no memory in use"


@pytest.mark.parametrize(
    "change",
    [{"memory_used_bytes": 40 << 30}, {"power_watts": 260.0}, {"processes": None}],
    ids=["memory is held", "it draws power", "who is there is not known"],
)
def test_where_somebody_may_be_there_it_is_not_the_counter(change: dict[str, Any]) -> None:
    spins = play(always(without_job=True, gpus={2: {**LATCHED, **change}}), 45, interval=2.0).all(
        "HW211"
    )
    assert all(each.name != "utilization counter stuck" for each in spins)


def test_the_gpu_of_a_job_whose_processes_are_hidden_is_judged_as_the_jobs() -> None:
    found = play(always(every_gpu=SPINNING), 45, interval=2.0).all("HW211")
    assert found and all(each.name == "utilization without work" for each in found)
