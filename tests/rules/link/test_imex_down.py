"""The service for memory of GPUs on other nodes, where a node is set up for it."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.link_readings import ImexReading

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import BEGAN, on_many_nodes

HIDDEN = "the processes of others are not shown here"


def imex(more: dict[str, Any] | None = None, **fields: Any) -> Script:
    """A domain of 18 nodes, read every 20 seconds."""
    given = {"domain_nodes": 18, "daemon_runs": True, "channels": 1, **fields}

    def script(second: float) -> Changes:
        reading = ImexReading(monotonic_seconds=BEGAN + second // 20 * 20, **given)
        return Changes(imex=reading, **(more or {}))

    return script


def test_the_daemon_is_gone() -> None:
    found = play(imex({"processes": on_many_nodes()}, daemon_runs=False), 60).one("LNK518")
    assert (found.subject.kind, found.severity) == ("host", "warning")
    assert evidence(found, "imex_nodes").value == 18.0
    assert "train.py" in str(evidence(found, "jobs_on_several_nodes").value)
    assert found.price.reason


def test_the_driver_is_the_second_witness() -> None:
    asked = {"gpus": {3: {"recovery_action": "recover imex domain"}}}
    played = play(imex(asked, daemon_runs=False), 60)
    assert played.one("LNK518").severity == "error"
    symptom = played.one("HW217")
    assert symptom.explained_by is not None and symptom.explained_by.id == "LNK518"


def test_without_channels_jobs_cannot_use_it() -> None:
    found = play(imex(channels=0), 60).one("LNK518")
    assert (found.name, found.severity) == ("no IMEX channel", "info")


@pytest.mark.parametrize(
    "script",
    [
        imex(),
        imex(domain_nodes=1, daemon_runs=False),
        imex(domain_nodes=0, daemon_runs=False, channels=0),
        lambda _: Changes(),
        lambda _: Changes(
            imex=ImexReading(monotonic_seconds=BEGAN - 300.0, domain_nodes=18, daemon_runs=False)
        ),
    ],
    ids=["runs", "alone", "an empty list", "not set up", "read long ago"],
)
def test_near_misses(script: Script) -> None:
    played = play(script, 60)
    assert "LNK518" not in played.ever()
    assert "LNK518" not in {each.id for each in played.last.not_evaluated}


def test_a_restart_is_no_fault() -> None:
    def restarts(second: float) -> Changes:
        return imex(daemon_runs=not 20 <= second < 60)(second)

    assert "LNK518" not in play(restarts, 90).ever()


def test_in_a_container_nobody_knows() -> None:
    last = play(imex(daemon_runs=None, missing={"daemon_runs": HIDDEN}), 60).last
    assert {each.id: each.reason for each in last.not_evaluated}["LNK518"] == HIDDEN
