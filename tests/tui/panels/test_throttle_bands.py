"""Why clocks were held down, over time."""

from __future__ import annotations

from gputop.probes.simulator import SCENARIOS
from gputop.tui.drawing.glyphs import BLOCK
from gputop.tui.drawing.lines import text_of, width_of
from gputop.tui.panels.throttle_bands import band_lines

from support.tui_watch import bare_gpu, played


def bands(scenario: str, gpu: int, width: int = 120) -> list[str]:
    judged, _, history = played(scenario)
    row = judged.frame.gpu(gpu)
    assert row is not None
    lines = [text_of(line) for line in band_lines(row, history, width)]
    assert {width_of(line) for line in lines} == {width}
    return lines


def test_a_hot_gpu_has_a_band_from_the_onset_on() -> None:
    title, heat = bands("thermal-throttle", 6)
    assert title.startswith("clocks held by")
    cells = heat.removeprefix("sw thermal slowdown").strip()
    assert cells == "┈" * cells.count("┈") + BLOCK * cells.count(BLOCK) and BLOCK in cells
    # The onset was 90 s before, of 100 s that are known.
    assert SCENARIOS["thermal-throttle"].onset_seconds == -90.0
    assert 0.8 < cells.count(BLOCK) / len(cells) < 1.0


def test_its_cool_neighbor_has_none() -> None:
    (line,) = bands("thermal-throttle", 0)
    assert "nothing in this time" in line


def test_what_cannot_be_read_is_not_nothing() -> None:
    _, _, history = played("healthy")
    (line,) = band_lines(bare_gpu(12), history, 80)
    assert "not read yet" in text_of(line)
