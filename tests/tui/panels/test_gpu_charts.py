"""The charts of one GPU: what a value is reported against, and the end of the scale."""

from __future__ import annotations

import re

import msgspec
import pytest

from gputop.probes.model.gpu_frames import GpuFrame
from gputop.rules.history import History
from gputop.tui.drawing.lines import text_of
from gputop.tui.panels.gpu_charts import curve_lines

from support.tui_watch import judgement, view


def titles(gpu: GpuFrame, history: History) -> str:
    return "\n".join(text_of(line) for line in curve_lines(gpu, history, 180, 30))


def test_links_are_reported_against_what_they_can_carry() -> None:
    shown = view(judgement())
    text = titles(shown.frame.gpus[0], shown.history)
    assert re.search(r"PCIe in +[\d.]+ GB/s of 63\.\d GB/s", text)
    assert re.search(r"NVLink out +[\d.]+ GB/s of 4\d\d GB/s", text)


def test_without_a_limit_the_most_seen_is_reported_and_is_never_less_than_now() -> None:
    shown = view(judgement())
    gpu = msgspec.structs.replace(
        shown.frame.gpus[0], pcie_limit_bytes_per_second=None, pcie_tx_bytes_per_second=77e9
    )
    assert re.search(r"PCIe out +77\.0 GB/s · most seen 77\.0 GB/s", titles(gpu, shown.history))


@pytest.mark.parametrize("limit", [1e9, None])
def test_a_scale_is_never_below_what_is_drawn(limit: float | None) -> None:
    shown = view(judgement())
    gpu = msgspec.structs.replace(shown.frame.gpus[0], nvlink_limit_bytes_per_second=limit)
    text = titles(gpu, shown.history)
    reported = re.search(r"NVLink in +([\d.]+) GB/s · most seen ([\d.]+) GB/s", text)
    assert reported and float(reported[1]) <= float(reported[2])
