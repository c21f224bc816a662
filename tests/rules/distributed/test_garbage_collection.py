"""Garbage collection: its share of a minute, whoever collects."""

from __future__ import annotations

import msgspec
import pytest

from support.rules_scenes import Script, evidence, play
from support.step_scenes import spends


def collects(share: float | None) -> Script:
    def page(rank: int, second: float) -> dict[str, object]:
        mine = share if rank == 2 else 0.0
        return {"gc_pause_seconds": None if mine is None else 5.0 + mine * second}

    return spends(lambda _rank, _second: {}, page)


@pytest.mark.parametrize(("share", "severity"), [(0.03, "info"), (0.08, "warning")])
def test_its_share_of_a_minute(share: float, severity: str) -> None:
    found = play(collects(share), 100).one("RUN433")
    assert (found.subject.rank, found.severity) == (2, severity)
    assert evidence(found, "garbage_collection_ratio").value == pytest.approx(share, abs=0.002)
    assert found.lost_ratio == pytest.approx(share, abs=0.002)


def test_near_misses() -> None:
    assert "RUN433" not in play(collects(0.005), 100).ever()
    assert "RUN433" not in play(collects(None), 100).ever()

    def restarts(second: float) -> object:
        return collects(0.0)(second if second < 50 else second - 50)

    assert "RUN433" not in play(restarts, 100).ever()  # type: ignore[arg-type]


def test_while_it_starts_much_is_collected_once() -> None:
    def starting(second: float) -> object:
        changes = collects(0.08)(second)
        changes.probes = [msgspec.structs.replace(each, step=None) for each in changes.probes]
        return changes

    assert "RUN433" not in play(starting, 100).ever()  # type: ignore[arg-type]
