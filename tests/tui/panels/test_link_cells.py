"""PCIe and NVLink in the GPUs' rows: against their limits, at every width, and honest where unknown."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gputop.probes.model.gpu_frames import GpuFrame
from gputop.tui.drawing.lines import text_of, width_of
from gputop.tui.panels.gpu_cells import GpuRow
from gputop.tui.panels.gpu_table import gpu_block
from gputop.tui.panels.link_cells import nvlink, pcie
from gputop.tui.widgets.canvas import Canvas

from support.tui_watch import app_of, judgement, running, view, with_gpu

LIMIT = 63e9
MAYBE = st.one_of(st.none(), st.floats(min_value=0, max_value=1e13))


def row(rx: float | None, tx: float | None, limit: float | None = LIMIT, **fields: Any) -> GpuRow:
    gpu = GpuFrame(
        index=0,
        monotonic_seconds=1.0,
        pcie_rx_bytes_per_second=rx,
        pcie_tx_bytes_per_second=tx,
        pcie_limit_bytes_per_second=limit,
        **fields,
    )
    return GpuRow(gpu, None)


def text(shown: GpuRow, width: int) -> str:
    return text_of(tuple(pcie(shown, width)))


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (4, "↓▁↑▅"),
        (6, "32.0G↑"),
        (7, "32.0G↑▅"),
        (10, "   32.0G↑▅"),
        (11, "3.3↓▁  32↑▅"),
        (13, " 3.3↓▁ 32.0↑▅"),
        (21, "╸┈┈┈  3.3↓ ━━┈┈ 32.0↑"),
        (17, "   3.3↓▁   32.0↑▅"),
    ],
)
def test_the_fill_is_against_the_limit(width: int, shown: str) -> None:
    assert text(row(3.3e9, 32e9), width) == shown


@given(rx=MAYBE, tx=MAYBE, limit=MAYBE, width=st.integers(4, 40))
@example(rx=None, tx=1.0, limit=5e-324, width=4)  # a share beyond all numbers
def test_it_fills_its_width(
    rx: float | None, tx: float | None, limit: float | None, width: int
) -> None:
    assert width_of(text(row(rx, tx, limit), width)) == width


@pytest.mark.parametrize("width", [4, 11, 21])
def test_a_link_that_is_nearly_full_is_warm(width: int) -> None:
    roles = {role for text, role in pcie(row(0.9 * LIMIT, 0.1 * LIMIT), width) if text.strip()}
    assert {"warm", "gauge"} <= roles
    assert "warm" not in {role for _, role in pcie(row(0.8 * LIMIT, 0.1 * LIMIT), width)}


@pytest.mark.parametrize("width", [4, 7, 11, 21])
def test_without_a_limit_there_is_no_fill(width: int) -> None:
    shown = text(row(3.3e9, 1.8e9, None), width)
    assert not set(shown) & set("▁▂▃▄▅▆▇█━╸┈")


@pytest.mark.parametrize("width", [4, 7, 11, 21])
def test_nothing_known_is_a_dash(width: int) -> None:
    assert text(row(None, None), width).strip() == "–"
    assert text_of(tuple(nvlink(row(1.0, 1.0), width))).strip() == "–"


def test_old_values_look_old() -> None:
    roles = {role for text, role in pcie(row(0.9 * LIMIT, 1e9, status="stale"), 11) if text.strip()}
    assert roles == {"stale", "trough"}


def titles(width: int) -> str:
    return text_of(gpu_block(view(), width, 4).lines[0])


@pytest.mark.parametrize("width", [96, 100, 115, 116, 117, 118, 120, 131, 132, 200])
def test_both_links_are_in_the_main_view_of_a_usual_terminal(width: int) -> None:
    assert "PCIe" in titles(width) and "NVLink" in titles(width)


def test_at_eighty_columns_the_notes_keep_their_room() -> None:
    assert "PCIe" not in titles(80)
    assert "PCIe" in titles(89)


@pytest.mark.parametrize("width", range(89, 140))
def test_a_usual_note_can_be_read_beside_the_links(width: int) -> None:
    lines = gpu_block(view(judgement("two-islands")), width, 4).lines
    assert "SM activity low" in text_of(lines[1])


@pytest.mark.parametrize("width", [128, 131, 132, 160])
def test_rates_are_numbers_where_there_is_room(width: int) -> None:
    fields = {
        "pcie_rx_bytes_per_second": 12.4e9,
        "pcie_tx_bytes_per_second": 2.0e9,
        "pcie_limit_bytes_per_second": LIMIT,
    }
    lines = gpu_block(view(with_gpu(judgement(), 0, **fields)), width, 4).lines
    assert "12↓" in text_of(lines[1]) and "2.0↑" in text_of(lines[1])


@pytest.mark.parametrize("width", range(96, 128))
def test_the_busier_way_of_each_link_is_a_number_from_96_columns(width: int) -> None:
    fields = {
        "pcie_rx_bytes_per_second": 12.4e9,
        "pcie_tx_bytes_per_second": 2.0e9,
        "nvlink_rx_bytes_per_second": 150e9,
        "nvlink_tx_bytes_per_second": 182e9,
    }
    line = text_of(gpu_block(view(with_gpu(judgement(), 0, **fields)), width, 4).lines[1])
    assert re.search(r"12\.4G↓|12↓", line) and re.search(r"182G?↑", line)


def test_of_one_way_alone_that_one_is_reported() -> None:
    assert text(row(None, 2e9), 6) == " 2.0G↑"
    assert text(row(2e9, None), 6) == " 2.0G↓"


@pytest.mark.parametrize("width", [6, 7])
def test_a_full_link_is_warm_also_where_only_one_way_is_reported(width: int) -> None:
    roles = {role for text, role in pcie(row(0.1 * LIMIT, 0.9 * LIMIT), width) if text.strip()}
    assert roles == {"warm"}


async def test_at_eighty_columns_the_screen_of_a_gpu_tells_both_links_both_ways() -> None:
    fields = {
        "pcie_rx_bytes_per_second": 12.4e9,
        "pcie_tx_bytes_per_second": 2.0e9,
        "nvlink_rx_bytes_per_second": 150e9,
        "nvlink_tx_bytes_per_second": None,
    }
    app, _ = app_of(with_gpu(judgement("thermal-throttle"), 6, **fields))
    async with running(app, (80, 24)) as pilot:
        await pilot.press("enter")
        await pilot.pause()
        second = text_of(app.screen.query_one(Canvas).lines[1])
    assert "PCIe 12.4↓  2.0↑  NVLink  150↓    –↑ GB/s" in second
