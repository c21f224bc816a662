"""What a row says of a GPU must be known, not guessed."""

from __future__ import annotations

import pytest

from gputop.probes.model.gpu_frames import GpuFrame
from gputop.probes.model.gpu_readings import GpuProcessReading
from gputop.tui.drawing.format import counted
from gputop.tui.panels.gpu_cells import GpuRow, phase


def shown(processes: tuple[GpuProcessReading, ...] | None) -> str:
    gpu = GpuFrame(index=0, monotonic_seconds=1.0, processes=processes)
    return "".join(text for text, _ in phase(make_row(gpu), 12)).strip()


def make_row(gpu: GpuFrame) -> GpuRow:
    return GpuRow(gpu, None)


@pytest.mark.parametrize(
    ("processes", "word"), [(None, "–"), ((), "free"), ((GpuProcessReading(pid=7),), "")]
)
def test_a_gpu_is_free_only_where_its_processes_are_known(
    processes: tuple[GpuProcessReading, ...] | None, word: str
) -> None:
    assert shown(processes) == word


def test_counts_are_grammatical() -> None:
    assert counted(1, "rank") == "1 rank"
    assert counted(8, "rank") == "8 ranks"
