"""GPUs that the driver has lost."""

from __future__ import annotations

from typing import Any

import pytest

from support.rules_scenes import (
    Changes,
    always,
    evidence,
    play,
)
from support.scene_readings import SPINNING


def test_gpu_lost_explains_what_its_job_shows() -> None:
    def script(second: float) -> Changes:
        if second < 5:
            return Changes()
        spinning = dict.fromkeys(range(8), SPINNING)
        return Changes(gpus={**spinning, 3: {"lost": True}})

    played = play(script, 60)
    lost = played.one("HW208")
    assert (lost.subject.gpu, lost.subject.rank, lost.severity) == (3, 3, "error")
    hollow = played.all("HW211")
    assert {found.subject.gpu for found in hollow} == {0, 1, 2, 4, 5, 6, 7}
    assert {found.explained_by and found.explained_by.id for found in hollow} == {"HW208"}
    assert played.last.findings[0].id == "HW208"


def test_a_gpu_that_was_lost_before_the_start_is_of_the_only_job() -> None:
    gpus: dict[int, dict[str, Any]] = {index: dict(SPINNING) for index in range(8)}
    gpus[3] = {"lost": True, "processes": ()}
    played = play(always(gpus=gpus), 30, interval=2.0)
    assert played.one("HW208").subject.job is not None
    assert all(found.explained_by for found in played.all("HW211"))


def test_a_gpu_that_vanished_is_lost_and_still_of_its_job() -> None:
    def script(second: float) -> Changes:
        return Changes(gone_gpus=(3,) if second >= 5 else ())

    found = play(script, 8).one("HW208")
    assert found.subject.gpu == 3
    assert found.subject.job is not None
    assert evidence(found, "status").value == "the driver does not list this GPU any more"


@pytest.mark.parametrize("gone", [{}, {"monotonic_seconds": -60.0}], ids=["there", "stale"])
def test_no_gpu_lost(gone: dict[str, Any]) -> None:
    assert "HW208" not in play(always(gpus={3: gone}), 5).ever()


def test_lost_for_one_look_is_not_lost() -> None:
    blip = lambda second: Changes(gone_gpus=(3,) if second == 4 else ())
    assert "HW208" not in play(blip, 8).ever()
