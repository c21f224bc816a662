"""Copies out of memory that is not pinned, beside slow and large ones that are."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.probe_readings import LoaderReading

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.step_scenes import spends, steps

LINK = 63e9
"""PCIe 5.0 x16, about."""


def copies(
    *,
    share: float = 0.25,
    rate: float | None = 2e9,
    pinned: bool | None = False,
    gpu: float | None = 0.24,
) -> Script:
    """Steps of a second.

    Args:
        share: of each step that the host is in the copy.
        rate: over PCIe, mean of the whole time.
        pinned: as the loader was made.
        gpu: seconds of the copy on the GPU.
    """

    def more(_rank: int, second: float) -> dict[str, Any]:
        on_gpu = {"h2d": gpu, "forward": 0.7} if gpu is not None else {}
        told = steps(second, phases={"h2d": share, "forward": 1.0 - share}, gpu_phases=on_gpu)
        return {"steps": told, "loader": LoaderReading(num_workers=4, pin_memory=pinned)}

    base = spends(lambda _rank, _second: {"h2d": share}, more)

    def script(second: float) -> Changes:
        changes = base(second)
        counter = {"pcie_rx_bytes": None} if rate is None else {}
        changes.every_gpu = {"pcie_rx_bytes_per_second": rate, **counter}
        return changes

    return script


def test_unpinned_copies_at_a_part_of_the_links_rate() -> None:
    played = play(copies(), 60)
    found = played.one("INP709")
    assert evidence(found, "copy_ratio").value == pytest.approx(0.25, abs=0.01)
    used = evidence(found, "link_ratio").value
    assert used == pytest.approx(2e9 / 0.25 / LINK, rel=0.1)
    assert evidence(found, "spans_ratio").value == pytest.approx(0.24 / 0.25, abs=0.01)
    assert isinstance(used, float)
    assert found.price.lost_ratio == pytest.approx(0.25 * (1.0 - used), abs=0.01)
    (slow,) = played.all("INP705")
    assert slow.explained_by is not None and slow.explained_by.id == "INP709"


@pytest.mark.parametrize(
    "changes",
    [
        {"share": 0.06},
        {"pinned": True},
        {"pinned": None},
        {"rate": 10e9},
        {"rate": None},
        {"gpu": 0.6},
        {"gpu": 0.05},
        {"gpu": None},
    ],
    ids=[
        *("little", "pinned", "not known", "as fast as the link", "no rate"),
        *("the host goes on", "the host does something else", "no time of the GPU"),
    ],
)
def test_near_misses(changes: dict[str, Any]) -> None:
    assert "INP709" not in play(copies(**changes), 60).ever()
