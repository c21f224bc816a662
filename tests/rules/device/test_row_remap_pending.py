"""Rows of memory that are to be remapped, or cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from support.rules_scenes import always, evidence, play


def test_row_remap_pending() -> None:
    found = play(always(gpus={4: {"remap_pending": True}}), 1).one("HW205")
    assert (found.subject.gpu, found.severity) == (4, "warning")
    assert evidence(found, "remap_pending").value == "yes"


def test_row_remap_failed() -> None:
    found = play(always(gpus={4: {"remap_failed": True}}), 1).one("HW205")
    assert found.severity == "error"
    assert "replaced" in found.next_step


def test_page_retirement_pending_on_an_older_chip() -> None:
    old = {"remap_pending": None, "remap_failed": None, "retired_pages_pending": True}
    assert play(always(gpus={4: old}), 1).one("HW205").severity == "warning"


def test_very_many_remapped_rows() -> None:
    assert play(always(gpus={4: {"remapped_rows_uncorrected": 513}}), 1).one("HW205")


@pytest.mark.parametrize(
    "change",
    [
        {"remapped_rows_uncorrected": 512},
        {"remap_pending": None, "remap_failed": None},
        {"remap_pending": True, "monotonic_seconds": -60.0},
    ],
    ids=["many rows", "unknown", "stale"],
)
def test_no_row_remap(change: dict[str, Any]) -> None:
    assert "HW205" not in play(always(gpus={4: change}), 3).ever()
