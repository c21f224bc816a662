"""/dev/shm: nearly full, and while it fills the time that is left."""

from __future__ import annotations

import pytest

from support.limit_scenes import MIB, Values, of_rank_2, still
from support.rules_scenes import evidence, play


def test_shared_memory_that_fills() -> None:
    def fills(second: float) -> Values:
        return {"shm_free_bytes": int((13 - second // 10 * 0.6) * MIB)}

    played = play(of_rank_2(fills), 190)
    found = played.one("HST127")
    assert (found.subject.kind, found.severity) == ("job", "error")
    assert evidence(found, "shm_used_ratio").value == pytest.approx(1 - 1.6 / 64)
    assert evidence(found, "time_left_seconds").value == pytest.approx(1.6 / 0.06, rel=0.2)


def test_full_but_not_filling_is_a_warning() -> None:
    assert play(still(shm_free_bytes=MIB), 200).one("HST127").severity == "warning"


@pytest.mark.parametrize(
    "near",
    [
        {"shm_free_bytes": 14 * MIB},
        {"shm_total_bytes": 500 << 30, "shm_free_bytes": 60 << 30},
        {"shm_total_bytes": None, "shm_free_bytes": None},
        {"shm_total_bytes": None, "shm_free_bytes": None, "missing": {"shm_total_bytes": "denied"}},
        {"shm_total_bytes": 0, "shm_free_bytes": 0},
    ],
    ids=["room", "large", "no limit", "not readable", "none"],
)
def test_near_misses(near: Values) -> None:
    assert "HST127" not in play(still(**near), 60).ever()
