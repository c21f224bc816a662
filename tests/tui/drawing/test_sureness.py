"""How sure a finding is, reported where that is not nearly certain."""

from __future__ import annotations

import msgspec
import pytest

from gputop.rules.finding import Evidence
from gputop.tui.drawing.lines import text_of
from gputop.tui.panels.main import draw
from gputop.tui.reports.diagnosis_text import as_text

from support.tui_watch import finding, judgement, view

PROOF = Evidence(signal="temperature_celsius", value=91.0, unit="celsius")
SURE = [(0.5, "50 % sure"), (0.6, "60 % sure"), (0.79, "79 % sure"), (0.8, ""), (1.0, "")]


@pytest.mark.parametrize(("confidence", "reported"), SURE)
@pytest.mark.parametrize("state", ["active", "pending"])
def test_a_diagnosis_tells_it_beside_the_subject(
    confidence: float, reported: str, state: str
) -> None:
    found = finding("MEM302", "memory held", "warning", 3, state, confidence=confidence)
    first = as_text(judgement(), None, [found]).splitlines()[0]
    inside = ", ".join(filter(None, (reported, "pending, seen 60 s" if state == "pending" else "")))
    assert first == "WARNING MEM302 memory held: GPU 3" + (f" ({inside})" if inside else "")


@pytest.mark.parametrize(("confidence", "reported"), SURE)
@pytest.mark.parametrize("width", [60, 80, 132, 200])
def test_the_main_screen_tells_it_before_the_numbers(
    confidence: float, reported: str, width: int
) -> None:
    found = finding("MEM302", "memory held", "warning", 3, confidence=confidence, evidence=(PROOF,))
    judged = msgspec.structs.replace(judgement(), findings=(found,))
    lines = [text_of(line) for line in draw(view(judged), width, 43).lines]
    (line,) = [line for line in lines if "MEM302" in line]
    assert "temperature 91 °C" in line  # what proves it is never cut for it
    assert ("sure" in line) is bool(reported and reported in line)
    if width >= 80:
        assert reported in line
