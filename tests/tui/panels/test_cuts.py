"""Nothing that one must act on is only half readable: cuts are marked, and Enter shows the whole."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.wire.messages import Reply
from gputop.rules.catalogue import RULES
from gputop.rules.finding import Finding
from gputop.rules.rule import Rule
from gputop.tui.app.app import GputopApp
from gputop.tui.drawing.finding_words import evidence_text
from gputop.tui.drawing.glyphs import DOT, ELLIPSIS
from gputop.tui.drawing.lines import (
    Line,
    LineBuilder,
    heading,
    paragraph,
    plain,
    text_of,
    whole_parts,
    whole_words,
    width_of,
    wrapped,
)
from gputop.tui.panels.finding_lines import causes, finding_block
from gputop.tui.panels.finding_page import finding_page
from gputop.tui.panels.gpu_findings import gpu_finding_lines
from gputop.tui.panels.gpu_table import gpu_block
from gputop.tui.panels.main import draw
from gputop.tui.panels.rank_delays import past_of
from gputop.tui.panels.rank_timeline import timeline_title
from gputop.tui.widgets.canvas import Canvas

from support.tui_watch import app_of, changed, finding, judgement, running, view, with_gpu

WORD = st.text("abcdefgh/-ä漢", min_size=1, max_size=30)
SCENARIOS = (
    "gpu-lost",
    "thermal-throttle",
    "cpu-throttled",
    "link-down",
    "two-islands",
    "rank-exited",
)


def joined(lines: Sequence[Line]) -> str:
    """The text as it was before it was broken into lines; words may have been broken too."""
    return "".join("".join(map(text_of, lines)).split())


def packed(text: str) -> str:
    return "".join(text.split())


def on_screen(app: GputopApp) -> list[Line]:
    return list(app.screen.query_one(Canvas).lines)


@given(words=st.lists(WORD, max_size=12), width=st.integers(min_value=12, max_value=60))
def test_a_paragraph_is_whole_and_as_wide_as_it_should_be(words: list[str], width: int) -> None:
    lines = paragraph(" ".join(words), width, first="  next: ")
    assert {width_of(text_of(line)) for line in lines} == {width}
    assert joined(lines) == packed("next: " + " ".join(words))


@given(parts=st.lists(WORD, min_size=1, max_size=6), width=st.integers(min_value=1, max_value=80))
def test_parts_are_whole_or_not_there(parts: list[str], width: int) -> None:
    text = f" {DOT} ".join(parts)
    said = whole_parts(text, width)
    assert width_of(said) <= width
    if width_of(text) <= width:
        assert said == text
    else:
        assert said.endswith(ELLIPSIS)
        kept = said.removesuffix(ELLIPSIS).removesuffix(f" {DOT} ")
        assert (
            width_of(parts[0]) + 4 > width or kept.split(f" {DOT} ") == parts[: kept.count(DOT) + 1]
        )


def test_a_text_that_begins_where_the_line_ends_leaves_a_mark() -> None:
    line = LineBuilder(5).add("abcde").add("f", "dim").add("g").line()
    assert text_of(line) == f"abcd{ELLIPSIS}"
    assert text_of(LineBuilder(5).add("abcde").gap(3).add("  ").line()) == "abcde"


def test_a_title_keeps_the_numbers_of_its_note_whole() -> None:
    title = text_of(heading("Step time", 40, f"p50 2.32 s {DOT} slowest 2.34 s, step 18 169"))
    assert f"p50 2.32 s {DOT} {ELLIPSIS}" in title and "slowest" not in title


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_next_step_is_whole_on_the_main_screen(scenario: str, width: int) -> None:
    judged = judgement(scenario)
    said = joined(draw(view(judged), width, 23).lines)
    for cause in causes(judged.active)[:1]:
        assert packed(cause.first.next_step) in said


@pytest.mark.parametrize("rows", range(1, 8))
def test_with_fewer_lines_what_is_left_out_is_marked(rows: int) -> None:
    judged = judgement("gpu-lost")
    (cause,) = causes(judged.active)
    lines = finding_block(view(judged), [cause], 80, rows).lines
    assert len(lines) <= rows
    whole = packed(cause.first.next_step) in joined(lines)
    assert whole or rows < 4
    assert whole or rows < 3 or text_of(lines[-1]).rstrip().endswith(ELLIPSIS)


def test_evidence_that_has_no_room_is_announced() -> None:
    judged = judgement("thermal-throttle")
    text = text_of(finding_block(view(judged), causes(judged.active), 80, 1).lines[0])
    assert text.rstrip().endswith(f"temperature 86 °C ≥ 82 °C {DOT} {ELLIPSIS}")


@given(text=st.lists(WORD, min_size=1, max_size=6).map(" ".join), width=st.integers(1, 60))
def test_words_are_whole_or_not_there(text: str, width: int) -> None:
    said = whole_words(text, width)
    assert width_of(said) <= width
    if said != text and width_of(text.split()[0]) < width:
        kept = said.removesuffix(ELLIPSIS)
        assert said != kept and text.startswith(f"{kept} ")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_name_of_a_finding_is_whole_wherever_there_is_room_for_the_table(
    rule: type[Rule],
) -> None:
    found = finding(rule.id, rule.name, rule.severity, 0, short=rule.short)
    judged = msgspec.structs.replace(judgement(), findings=(found,))
    for width in 60, 80, 89, 118, 132, 200:
        table = [text_of(line) for line in gpu_block(view(judged), width, 9).lines]
        (headline,) = finding_block(view(judged), causes([found]), width, 1).lines
        for row in table[1], text_of(headline):
            assert rule.name in row or (rule.short and rule.short in row)


def whole(finding: Finding) -> list[str]:
    return [packed(plain(evidence_text(each))) for each in finding.evidence]


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("width", [56, 80])
def test_a_finding_in_full_cuts_nothing(scenario: str, width: int) -> None:
    judged = judgement(scenario)
    for reported in judged.findings:
        page = finding_page(reported, judged.findings, judged.frame, width)
        assert not any(ELLIPSIS in text_of(line) for line in page)
        said = joined(page)
        assert packed(reported.next_step) in said and all(each in said for each in whole(reported))


def test_what_to_do_stands_above_the_evidence() -> None:
    judged = judgement("input-bound")
    first = judged.active[0]
    lines = [text_of(line).strip() for line in finding_page(first, (), judged.frame, 78)]
    assert lines.index("Next") < lines.index("Evidence") < 12


async def test_enter_on_a_gpu_shows_all_that_its_row_leaves_out() -> None:
    judged = judgement("thermal-throttle")
    app, _ = app_of(judged)
    async with running(app, (80, 24)) as pilot:
        assert "▲ thermal slowdown" in "\n".join(map(text_of, on_screen(app)))
        await pilot.press("enter")
        await pilot.pause()
        assert app.screen.name == "gpu"
        said = joined(on_screen(app))
    (first, *_) = judged.active
    assert packed(first.next_step) in said and all(each in said for each in whole(first))
    assert packed("explained by HW201, GPU 6") in said


def test_of_a_gpu_only_its_own_findings_are_reported() -> None:
    shown = view(judgement("thermal-throttle"))
    assert gpu_finding_lines(shown, 0, 80) == []


async def test_enter_opens_the_most_urgent_finding_where_it_is_about_no_gpu() -> None:
    app, _ = app_of(judgement("cpu-throttled"))
    async with running(app, (80, 24)) as pilot:
        await pilot.press("enter")
        await pilot.pause()
        assert app.screen.name == "findings"
        assert "HST110 cgroup CPU throttling" in "\n".join(map(text_of, on_screen(app)))


async def test_why_a_gpu_does_not_answer_is_whole_on_its_screen() -> None:
    why = "the driver says that it has to be reset, and that nobody may use it until then"
    app, _ = app_of(with_gpu(judgement(), 0, status="lost", status_reason=why, age_seconds=9.0))
    async with running(app, (60, 24)) as pilot:
        await pilot.press("down", "enter")
        await pilot.pause()
        assert packed(why) in joined(on_screen(app))


async def test_everything_about_a_process_is_whole() -> None:
    app, _ = app_of()
    async with running(app, (80, 24)) as pilot:
        await pilot.press("4", "down", "down")
        await pilot.pause()
        assert packed("writes 0 B/s · switches") in joined(on_screen(app))


@pytest.mark.parametrize("arguments", [3, 60, 600])
async def test_a_long_command_leaves_room_for_the_rest(arguments: int) -> None:
    judged = judgement()
    first, *others = judged.frame.processes
    command = ("python", *[f"--option-{number}" for number in range(arguments)])
    long = msgspec.structs.replace(first, command=command)
    app, _ = app_of(changed(judged, processes=(long, *others)))
    async with running(app, (80, 24)) as pilot:
        await pilot.press("4", "slash", *str(first.pid), "enter", "down")
        await pilot.pause()
        lines = [text_of(line) for line in on_screen(app)]
    said = "".join(lines)
    assert "cgroup" in said and "python --option-0" in said
    assert (command[-1] in said) is (arguments < 600)
    assert any(line.rstrip().endswith(ELLIPSIS) for line in lines[6:]) is (arguments == 600)


async def test_a_long_value_of_the_environment_is_whole() -> None:
    path = ":".join(f"/opt/{number}/lib" for number in range(30))
    app, watch = app_of()
    watch.reply = Reply(command_id=1, ok=True, data={"environment": {"LD_LIBRARY_PATH": path}})
    async with running(app, (80, 24)) as pilot:
        await pilot.press("4", "down", "e")
        await pilot.pause()
        await pilot.pause()
        said = joined(on_screen(app))
    assert f"LD_LIBRARY_PATH={path}" in said and "1variable" in said


@pytest.mark.parametrize("width", [60, 80, 100, 132])
async def test_the_matrix_has_whole_columns_only(width: int) -> None:
    app, _ = app_of()
    async with running(app, (width, 30)) as pilot:
        await pilot.press("3", "t")
        await pilot.pause()
        rows = [text_of(line) for line in on_screen(app) if re.match(" GPU| +GPU", text_of(line))]
    assert len(rows) >= 9 and not any(ELLIPSIS in row for row in rows)


@pytest.mark.parametrize("width", [50, 60, 70, 80, 100])
def test_the_legend_of_the_time_line_names_whole_phases(width: int) -> None:
    judged = judgement()
    (job,) = judged.frame.jobs
    past = past_of(judged.frame, job)
    assert past is not None
    legend = text_of(timeline_title(job, past, width)).rstrip()
    names = {"data", "h2d", "forward", "backward", "comm", "waits", "optimizer", "other"}
    shown = re.sub("^.* s ", "", legend).split()[1::2]
    assert set(shown) <= names
    assert legend.endswith(ELLIPSIS) is (len(shown) < len(names))


def test_a_number_keeps_its_percent_sign() -> None:
    assert wrapped("against 20 % of its peers", 10) == ("against", "20 % of", "its peers")
