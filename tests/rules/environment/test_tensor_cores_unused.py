"""Busy multiprocessors with idle tensor cores."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from support.rules_scenes import (
    Changes,
    Script,
    always,
    evidence,
    play,
)
from support.scene_readings import GPUS, probe

PLAIN = {"tensor_active_ratio": 0.0, "sm_active_ratio": 0.85}


def computes_in(precision: str) -> Script:
    def script(second: float) -> Changes:
        pages = [
            msgspec.structs.replace(probe(rank, second, "forward", 0.1), precision=precision)
            for rank in range(GPUS)
        ]
        return Changes(every_gpu=PLAIN, probes=pages)

    return script


def test_the_precision_is_named() -> None:
    found = play(computes_in("float32"), 75).one("ENV605")
    assert (found.subject.kind, found.severity) == ("job", "info")
    assert evidence(found, "precision").value == "float32"
    assert evidence(found, "tensor_active_ratio").comparison == "<"
    assert found.price.reason


def test_without_a_probe_the_counters_are_enough() -> None:
    found = play(always(every_gpu=PLAIN), 75).one("ENV605")
    assert all(each.signal != "precision" for each in found.evidence)


@pytest.mark.parametrize(
    ("every", "one"),
    [
        ({**PLAIN, "tensor_active_ratio": 0.02}, {}),
        ({**PLAIN, "sm_active_ratio": 0.3}, {}),
        (PLAIN, {"tensor_active_ratio": 0.4}),
    ],
    ids=["some", "little work", "one rank uses them"],
)
def test_near_misses(every: dict[str, Any], one: dict[str, Any]) -> None:
    assert "ENV605" not in play(always(every_gpu=every, gpus={3: one} if one else {}), 75).ever()


def test_an_idle_node_has_no_use_for_them() -> None:
    assert "ENV605" not in play(always(every_gpu=PLAIN, without_job=True), 75).ever()


def test_older_chips_do_not_tell() -> None:
    none = {"tensor_active_ratio": None, "missing": {"tensor_active_ratio": "needs Hopper"}}
    last = play(always(every_gpu=none), 10).last
    assert {each.id: each.reason for each in last.not_evaluated}["ENV605"] == "needs Hopper"
