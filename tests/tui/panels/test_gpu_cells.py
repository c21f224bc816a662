"""What a row says of a GPU must be known, not guessed."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.gpu_frames import GpuFrame
from gputop.probes.model.gpu_readings import GpuProcessReading
from gputop.rules.occupancy import why_owner_unseen
from gputop.tui.drawing.format import counted
from gputop.tui.panels.gpu_cells import GpuRow, phase

GIB = 1 << 30
EMPTY: dict[str, Any] = {"memory_used_bytes": GIB // 2, "utilization_ratio": 0.0}
LATCHED: dict[str, Any] = {
    "memory_used_bytes": GIB // 2,
    "utilization_ratio": 1.0,
    "power_watts": 70.0,
    "power_limit_watts": 700.0,
}


def shown(gpu: GpuFrame, width: int) -> str:
    return "".join(text for text, _ in phase(GpuRow(gpu, None), width)).strip()


def gpu(processes: tuple[GpuProcessReading, ...] | None, **values: Any) -> GpuFrame:
    return GpuFrame(index=0, monotonic_seconds=1.0, processes=processes, **values)


@pytest.mark.parametrize(
    ("row", "word"),
    [
        (gpu(None, **EMPTY), "–"),
        (gpu((), **EMPTY), "free"),
        (gpu((GpuProcessReading(pid=7),), **EMPTY), ""),
        (gpu((), **{**EMPTY, "memory_used_bytes": 40 * GIB}), "owner not seen"),
        (gpu((), **{**EMPTY, "utilization_ratio": 0.6}), "owner not seen"),
        (gpu((), **{**EMPTY, "memory_used_bytes": None}), "owner not seen"),
        (gpu((), **{**EMPTY, "utilization_ratio": None}), "owner not seen"),
        (gpu(()), "owner not seen"),
        (gpu((), **LATCHED), "free"),
        (gpu((), **{**LATCHED, "power_watts": 400.0}), "owner not seen"),
        (gpu((), **{**LATCHED, "power_watts": None}), "owner not seen"),
    ],
)
def test_a_gpu_is_free_only_where_it_is_known_to_be_idle_and_empty(
    row: GpuFrame, word: str
) -> None:
    assert shown(row, 14) == word
    if word == "owner not seen":
        assert shown(row, 12) == "not seen"
        assert why_owner_unseen(row)


def test_why_an_owner_is_not_seen() -> None:
    held = gpu((), memory_used_bytes=40 * GIB, utilization_ratio=0.6)
    assert why_owner_unseen(held).startswith(
        "40.0 GiB are in use and it is 60% busy, and the driver"
    )
    assert "not both known" in why_owner_unseen(gpu(()))
    assert why_owner_unseen(gpu((), **EMPTY)) == ""


def test_counts_are_grammatical() -> None:
    assert counted(1, "rank") == "1 rank"
    assert counted(8, "rank") == "8 ranks"
