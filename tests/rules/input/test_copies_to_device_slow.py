"""Copies to the GPU that take a large share of each step, and at which rate."""

from __future__ import annotations

import pytest

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.step_scenes import spends


def copies(share: float, rate: float | None) -> Script:
    base = spends(lambda _rank, _second: {"h2d": share})

    def script(second: float) -> Changes:
        changes = base(second)
        changes.every_gpu = {"pcie_rx_bytes_per_second": rate}
        return changes

    return script


def test_slow_copies_want_pinned_memory() -> None:
    found = play(copies(0.25, 1e9), 60).one("INP705")
    rate = evidence(found, "copied_bytes_per_second")
    assert rate.value == pytest.approx(4e9, rel=0.05)
    assert rate.comparison == "<"
    assert "pin_memory" in found.next_step
    assert found.lost_ratio == pytest.approx(0.25, abs=0.01)


def test_fast_copies_are_too_many() -> None:
    assert "Send less" in play(copies(0.25, 8e9), 60).one("INP705").next_step


def test_where_the_rate_is_not_known_the_share_is() -> None:
    assert evidence(
        play(copies(0.25, None), 60).one("INP705"), "copy_ratio"
    ).value == pytest.approx(0.25, abs=0.01)


def test_near_misses() -> None:
    assert "INP705" not in play(copies(0.05, 1e9), 60).ever()
