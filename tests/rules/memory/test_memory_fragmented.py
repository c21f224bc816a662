"""Pieces that nobody can use: information, until the device is short of memory."""

from __future__ import annotations

import pytest

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.step_scenes import GIB, allocates


def with_used(script: Script, used_gib: float) -> Script:
    def fuller(second: float) -> Changes:
        changes = script(second)
        changes.every_gpu = {"memory_used_bytes": int(used_gib * GIB)}
        return changes

    return fuller


def pieces(split: float, reserved: float = 60.0) -> Script:
    return allocates(lambda _rank, _second: 30, reserved=reserved, split=split)


def test_a_third_in_pieces() -> None:
    found = play(with_used(pieces(20), 70), 60).all("MEM305")
    assert {(each.subject.rank, each.severity) for each in found} == {
        (rank, "info") for rank in range(8)
    }
    assert evidence(found[0], "fragmented_ratio").value == pytest.approx(1 / 3, abs=0.01)


def test_where_the_device_is_full_it_is_a_warning() -> None:
    assert play(with_used(pieces(20), 77), 60).all("MEM305")[0].severity == "warning"


def test_near_misses() -> None:
    assert "MEM305" not in play(with_used(pieces(12), 77), 60).ever()
    assert "MEM305" not in play(with_used(pieces(8, reserved=16), 77), 60).ever()
