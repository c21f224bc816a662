"""A driver that gives its GPUs up between jobs: information, on servers."""

from __future__ import annotations

from support.rules_scenes import always, evidence, play


def test_the_gpus_are_named() -> None:
    found = play(always(gpus={1: {"persistence_mode": False}, 3: {"persistence_mode": False}}), 15)
    assert evidence(found.one("ENV603"), "gpus").value == "1, 3"
    assert found.one("ENV603").severity == "info"


def test_near_misses() -> None:
    assert "ENV603" not in play(always(every_gpu={"persistence_mode": True}), 15).ever()
    assert "ENV603" not in play(always(every_gpu={"persistence_mode": None}), 15).ever()
    desktop = always(every_gpu={"persistence_mode": False}, gone_gpus=range(1, 8))
    assert "ENV603" not in play(desktop, 15).ever()
