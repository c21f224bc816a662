"""GPUs that have not joined their NVSwitch fabric, and fabrics that do not fare well."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.missing_reasons import NO_FABRIC, NOT_OFFERED

from support.rules_scenes import (
    Changes,
    always,
    evidence,
    play,
)


def test_one_gpu_has_failed_to_join() -> None:
    found = play(always(gpus={4: {"fabric_state": "failed (error 999)"}}), 40).one("LNK517")
    assert (found.subject.kind, found.subject.gpu, found.severity) == ("gpu", 4, "error")
    assert found.name == "NVLink fabric not joined"
    assert evidence(found, "gpus").value == "4"


def test_a_whole_node_is_reported_once() -> None:
    found = play(always(every_gpu={"fabric_state": "in progress"}), 40).one("LNK517")
    assert (found.subject.kind, found.severity) == ("host", "warning")
    assert evidence(found, "gpus").value == "0, 1, 2, 3, 4, 5, 6, 7"


def test_a_fabric_that_all_share_is_reported_once() -> None:
    found = play(always(every_gpu={"fabric_health": "degraded bandwidth"}), 40).one("LNK517")
    assert (found.subject.kind, found.name) == ("host", "NVLink fabric impaired")


@pytest.mark.parametrize("health", ["unhealthy", "limited capacity", "degraded bandwidth"])
def test_a_fabric_that_does_not_fare_well(health: str) -> None:
    found = play(always(gpus={2: {"fabric_health": health}}), 40).one("LNK517")
    assert (found.subject.gpu, found.severity) == (2, "warning")
    assert evidence(found, "fabric_health").value == health


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"fabric_health": None, "missing": {"fabric_health": "not reported by this driver"}},
        {"fabric_state": None, "fabric_health": None, "missing": {"fabric_state": NO_FABRIC}},
        {"fabric_state": "in progress", "monotonic_seconds": -60.0},
    ],
    ids=["well", "health not told", "no fabric", "stale"],
)
def test_near_misses(change: dict[str, Any]) -> None:
    played = play(always(gpus={4: change}), 40)
    assert "LNK517" not in played.ever()
    assert "LNK517" not in {each.id for each in played.last.not_evaluated}


def test_a_node_that_is_being_set_up_has_its_time() -> None:
    def starting(second: float) -> Changes:
        return Changes(every_gpu={"fabric_state": "in progress" if second < 25 else "completed"})

    assert "LNK517" not in play(starting, 60).ever()


def test_an_older_driver_cannot_tell() -> None:
    old = {"fabric_state": None, "fabric_health": None, "missing": {"fabric_state": NOT_OFFERED}}
    last = play(always(every_gpu=old), 10).last
    assert {each.id: each.reason for each in last.not_evaluated}["LNK517"] == NOT_OFFERED
