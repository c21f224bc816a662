"""Memory errors that ECC cannot correct."""

from __future__ import annotations

from typing import Any

import pytest

from support.rules_scenes import (
    Changes,
    always,
    evidence,
    play,
)
from support.scene_readings import xid


def errors(second: float, **more: Any) -> Changes:
    return Changes(gpus={4: {"ecc_uncorrected": 7 if second < 5 else 9, **more}})


def test_uncorrectable_errors_since_the_start() -> None:
    found = play(errors, 6).one("HW204")
    assert (found.subject.gpu, found.severity) == (4, "warning")
    count = evidence(found, "uncorrected_errors")
    assert (count.value, count.threshold, count.comparison) == (2.0, 1.0, "≥")


@pytest.mark.parametrize(
    ("more", "witness"),
    [
        ({"remap_pending": True}, "remap_pending"),
        ({"recovery_action": "gpu reset"}, "recovery_action"),
    ],
)
def test_uncorrectable_errors_with_a_second_witness(more: dict[str, Any], witness: str) -> None:
    found = play(lambda second: errors(second, **more), 6).one("HW204")
    assert found.severity == "error"
    assert evidence(found, witness).value


def test_uncorrectable_errors_of_just_before_the_start() -> None:
    played = play(always(gpus={4: {"ecc_uncorrected": 2}}, xids=[xid(-90, 48, gpu=4)]), 1)
    found = played.one("HW204")
    assert (found.severity, evidence(found, "uncorrected_errors").value) == ("error", 2.0)
    assert found.explained_by is not None
    other = play(always(gpus={4: {"ecc_uncorrected": 2}}, xids=[xid(-90, 63, gpu=4)]), 1)
    assert other.one("HW204").severity == "warning"


def test_uncorrectable_errors_since_the_driver_was_loaded_are_of_before_this_watch() -> None:
    old = {"ecc_uncorrected": 9, "ecc_uncorrected_lifetime": 400}
    found = play(always(gpus={4: old}), 5).one("HW204")
    assert (found.name, found.severity) == ("memory error before this watch", "warning")
    assert evidence(found, "since").value == "before this watch"
    assert evidence(found, "uncorrected_errors").value == 9.0


def test_uncorrectable_errors_of_a_lifetime_are_history() -> None:
    old = {"ecc_uncorrected": 0, "ecc_uncorrected_lifetime": 400}
    assert play(always(gpus={4: old}), 5).ever() == set()


def test_without_ecc_nothing_is_said() -> None:
    assert play(always(gpus={4: {"ecc_uncorrected": None}}), 5).ever() == set()
