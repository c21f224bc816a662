"""What time was lost to is told alike on the screen, in diagnose and in JSON."""

from __future__ import annotations

import json
import re

import pytest

from gputop.rules.account.entries import COMPUTE, ENTRIES
from gputop.tui.commands.diagnose import as_json
from gputop.tui.drawing.finding_words import price_line
from gputop.tui.drawing.lines import text_of
from gputop.tui.drawing.lost_time import lost_line
from gputop.tui.panels.finding_page import finding_page
from gputop.tui.panels.main import draw
from gputop.tui.reports.diagnosis_text import as_text
from gputop.tui.reports.json_output import frame_json
from gputop.tui.reports.markdown import finding_markdown

from support.tui_watch import played, view

_PART = re.compile(r"([\w -]+?) ([\d.]+) GPU-(hours|seconds) \(([\d.]+) %\)")
_SCENARIOS = ("input-bound", "gpu-lost", "straggler", "healthy")


@pytest.mark.parametrize("scenario", _SCENARIOS)
def test_screen_diagnose_and_json_tell_the_same(scenario: str) -> None:
    judged = played(scenario)[0]
    line = lost_line(judged)
    screen = "\n".join(text_of(each) for each in draw(view(judged), 400, 50).lines)
    assert line in screen
    assert line[1:] in as_text(judged, None, ())
    for printed in (json.loads(frame_json(judged)), json.loads(as_json(judged, None, ()))):
        ledger = printed["ledger"]["watch"]
        by_title = {ENTRIES[name].title: entry for name, entry in ledger["entries"].items()}
        shown = _PART.findall(line)
        assert shown
        for title, amount, unit, percent in shown:
            seconds = by_title[title.strip(" ·")]["duration_seconds"]
            told = float(amount) * (3600 if unit == "hours" else 1)
            assert told == pytest.approx(seconds, abs=180 if unit == "hours" else 0.5)
            share = 100 * seconds / ledger["seen_duration_seconds"]
            assert float(percent) == pytest.approx(share, abs=0.51)
        told_shares = sum(float(each[3]) for each in shown)
        compute = ledger["entries"][COMPUTE]["duration_seconds"]
        rest = 100 * (1 - compute / ledger["seen_duration_seconds"])
        assert told_shares == pytest.approx(rest, abs=4)  # of what is under 1 % nothing is said


def test_a_job_has_its_own_line() -> None:
    judged = played("input-bound")[0]
    (job,) = judged.frame.jobs
    assert lost_line(judged, job).split(":", 2)[2] in as_text(judged, job, ())


def test_the_largest_loss_is_told_first() -> None:
    assert ": input wait " in lost_line(played("input-bound")[0])
    assert ": waiting for a late rank " in lost_line(played("gpu-lost")[0])


@pytest.mark.parametrize("scenario", _SCENARIOS)
def test_a_price_is_told_alike_on_the_page_in_text_and_in_markdown(scenario: str) -> None:
    judged = played(scenario)[0]
    for finding in judged.active:
        line = price_line(finding)
        assert line, finding.id
        page = finding_page(finding, judged.findings, judged.frame, 300)
        assert line in "\n".join(map(text_of, page))
        assert line in as_text(judged, None, [finding])
        assert line in finding_markdown(finding, judged.frame)
