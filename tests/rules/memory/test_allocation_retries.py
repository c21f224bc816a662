"""Retries of PyTorch's allocator: any within a minute, once the first steps have found their sizes."""

from __future__ import annotations

from support.rules_scenes import evidence, play
from support.step_scenes import allocates


def test_retries_are_told_with_their_number() -> None:
    script = allocates(lambda _rank, _second: 30, retries=lambda second: int(second // 20))
    found = play(script, 70).all("MEM303")
    assert {each.subject.rank for each in found} == set(range(8))
    assert evidence(found[0], "alloc_retries").value == 3.0


def test_near_misses() -> None:
    long_ago = allocates(lambda _rank, _second: 30, retries=lambda _second: 7)
    assert "MEM303" not in play(long_ago, 60).ever()
    over = allocates(lambda _rank, _second: 30, retries=lambda second: int(second >= 5))
    assert "MEM303" not in play(over, 160).ids()
