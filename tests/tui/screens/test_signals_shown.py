"""What the table of signals calls a fact or a chart is on its subject's screen, or its reason is."""

from __future__ import annotations

from typing import Any

import msgspec

from gputop.probes.model.gpu_frames import GpuFrame
from gputop.probes.model.missing_reasons import NO_FANS, NOT_SUPPORTED
from gputop.tui.drawing.lines import text_of
from gputop.tui.drawing.target import process_target
from gputop.tui.panels.gpu_charts import curve_lines
from gputop.tui.panels.gpu_facts import fact_lines
from gputop.tui.screens.process_screen import ProcessScreen

from support.tui_watch import changed, judgement, view


def gpu_screen(**changes: Any) -> tuple[str, str]:
    """Charts and facts of a GPU."""
    shown = view(judgement())
    gpu: GpuFrame = msgspec.structs.replace(shown.frame.gpus[0], **changes)
    charts = curve_lines(gpu, shown.history, 180, 40)
    facts = fact_lines(gpu, shown.frame, 70)
    charts_text, facts_text = (
        " ".join(" ".join(map(text_of, lines)).split()) for lines in (charts, facts)
    )
    return charts_text, facts_text


def test_a_fan_has_a_chart_and_facts() -> None:
    charts, facts = gpu_screen(fan_count=1, fan_speed_ratio=0.62, fan_rotations_per_second=50.0)
    assert "fan set to 62 %" in charts
    assert "fan set to 62 %" in facts
    assert "fan turns at 3000 rpm" in facts


def test_a_board_without_fans_has_no_chart_of_one_and_says_why() -> None:
    charts, facts = gpu_screen()
    assert "fan" not in charts
    assert f"fan set to {NO_FANS}" in facts


def test_what_a_chip_does_not_support_is_said_with_what_it_would_need() -> None:
    missing = {"sm_active_ratio": NOT_SUPPORTED, "power_watts": NOT_SUPPORTED}
    _, facts = gpu_screen(sm_active_ratio=None, power_watts=None, missing=missing)
    assert f"SM active {NOT_SUPPORTED}: it needs GPM (Hopper or later)" in facts
    assert f"power {NOT_SUPPORTED}" in facts and f"power {NOT_SUPPORTED}:" not in facts


def process_screen(**changes: Any) -> str:
    """The screen of processes with one selected, of whose group this pressure was read."""
    judged = judgement()
    process = next(each for each in judged.frame.processes if each.rank == 0)
    (pressure,) = judged.frame.pressures
    judged = changed(judged, pressures=(msgspec.structs.replace(pressure, **changes),))
    shown = view(judged, selected=process_target(process))
    return " ".join(" ".join(map(text_of, ProcessScreen().draw(shown, 160, 40).lines)).split())


def test_the_pressure_in_its_group_stands_beside_it() -> None:
    text = process_screen(
        pressure_cpu_ratio=0.12, pressure_memory_ratio=0.0, pressure_io_ratio=0.034
    )
    assert "· CPU pressure 12 % · memory pressure 0 % · IO pressure 3.4 %" in text


def test_pressure_that_is_not_counted_is_explained_once() -> None:
    names = ("pressure_cpu_ratio", "pressure_memory_ratio", "pressure_io_ratio")
    reason = "control groups of version 1 do not count it"
    text = process_screen(**dict.fromkeys(names), missing=dict.fromkeys(names, reason))
    assert f"CPU pressure, memory pressure, IO pressure: {reason}" in text
