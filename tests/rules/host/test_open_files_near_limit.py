"""Descriptors: nearly all in use, and of those that leak the time that is left."""

from __future__ import annotations

import pytest

from support.limit_scenes import ROOMY, Values, limits, of_rank_2, still
from support.rules_scenes import Changes, evidence, play
from support.scene_readings import GPUS, rank_pid


def test_nearly_all_descriptors_in_use() -> None:
    found = play(still(open_files=900), 40).one("HST126")
    assert (found.subject.rank, found.severity) == (2, "warning")
    assert evidence(found, "open_files_ratio").value == pytest.approx(900 / 1024)
    assert f"--pid {rank_pid(2)} --nofile=65536" in found.next_step
    assert evidence(found, "time_left_seconds").value is None


def test_descriptors_that_leak_are_told_with_the_time_that_is_left() -> None:
    played = play(of_rank_2(lambda second: {"open_files": int(800 + second // 10 * 10)}), 200)
    found = played.one("HST126")
    assert found.severity == "error"  # 1000 of 1024, and one more a second
    left = evidence(found, "time_left_seconds").value
    assert left == pytest.approx(24, abs=3)


def test_an_unreadable_limit_is_a_rule_that_could_not_look() -> None:
    missing = {"open_files": "denied"}
    values = {**ROOMY, "open_files": None, "missing": missing}
    played = play(
        lambda second: Changes(limits=[limits(rank, second, **values) for rank in range(GPUS)]), 5
    )
    assert ("HST126", "denied") in {(each.id, each.reason) for each in played.last.not_evaluated}


@pytest.mark.parametrize(
    "near",
    [
        {"open_files": 800},
        {"open_files": 100_000, "open_files_limit": None},
        {"open_files": None, "missing": {"open_files": "denied"}},
    ],
    ids=["room", "no limit", "not readable"],
)
def test_near_misses(near: Values) -> None:
    assert "HST126" not in play(still(**near), 60).ever()


def test_old_readings_tell_nothing() -> None:
    def script(_second: float) -> Changes:
        return Changes(limits=[limits(2, 0, **{**ROOMY, "open_files": 1000})])

    assert "HST126" not in play(script, 120).ids()
