"""How many causes there are is reported alike in the first line, on the main screen and on that of the findings."""

from __future__ import annotations

import re
from collections import Counter

import msgspec
import pytest

from gputop.rules.finding import FindingRef, Judgement
from gputop.tui.drawing.glyphs import ERROR, INFO, WARNING
from gputop.tui.drawing.lines import text_of
from gputop.tui.panels.main import draw
from gputop.tui.panels.too_small import too_small
from gputop.tui.panels.top_line import top_line
from gputop.tui.screens.finding_screen import FindingScreen, listed

from support.scenarios import PLAIN
from support.tui_watch import finding, judgement, view

MARKS = (ERROR, WARNING, INFO)


def counted(text: str) -> Counter[str]:
    return Counter({mark: int(count) for mark, count in re.findall(r"([✖▲●]) ?(\d+) ", text)})


def on_main(judged: Judgement) -> Counter[str]:
    lines = [text_of(line) for line in draw(view(judged), 200, 60).lines]
    start = next(at for at, line in enumerate(lines) if line.startswith("── Findings"))
    return Counter(line[1] for line in lines[start:] if re.match(r"[ ▸][✖▲●] [A-Z]{2,3}\d", line))


@pytest.mark.parametrize("scenario", PLAIN)
def test_one_count_everywhere(scenario: str) -> None:
    judged = judgement(scenario)
    first = counted(text_of(top_line(view(judged), 160)))
    small = counted(text_of(too_small(view(judged), 40, 5)[0]))
    assert +first == +small == on_main(judged)
    screen = FindingScreen()
    title = text_of(screen.draw(view(judged), 132, 40).lines[1])
    reported = re.search(r"(\d+) causes? of (\d+) active · (\d+) pending · (\d+) cleared", title)
    if reported is None:
        assert not listed(view(judged)) and not first.total()
        return
    causes, *others = map(int, reported.groups())
    assert causes == first.total()
    states = Counter(finding.state for finding in judged.findings)
    assert others == [states["active"], len(judged.pending_causes), states["cleared"]]
    assert states.total() == len(listed(view(judged)))


def test_symptoms_to_come_of_what_is_active_are_not_suspected() -> None:
    cause = finding("HW201", "thermal slowdown", "warning", 6)
    ref = FindingRef(id=cause.id, subject=cause.subject)
    symptoms = [
        finding("HW210", "utilization low", "warning", gpu, "pending", explained_by=ref)
        for gpu in range(6)
    ]
    other = finding("HW202", "power cap", "warning", 7, "pending")
    for more, many in ((), 0), ((other,), 1):
        judged = msgspec.structs.replace(judgement(), findings=(cause, *symptoms, *more))
        main = "\n".join(text_of(line) for line in draw(view(judged), 132, 42).lines)
        assert re.findall(r"(\d+) pending", main) == ([str(many)] if many else [])
        title = text_of(FindingScreen().draw(view(judged), 132, 40).lines[1])
        assert f"{many} pending" in title


def test_a_filter_says_that_not_all_are_counted() -> None:
    title = text_of(
        FindingScreen().draw(view(judgement("gpu-lost"), filter="GPU 0"), 132, 40).lines[1]
    )
    assert "1 cause of 1 active" in title and "matching 'GPU 0'" in title
