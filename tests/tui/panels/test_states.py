"""What the reader sees of a node that is ill, silent or gone."""

from __future__ import annotations

import re

import msgspec
import pytest

from gputop.rules.finding import Severity
from gputop.tui.app.app import GputopApp
from gputop.tui.drawing.glyphs import to_ascii
from gputop.tui.drawing.lines import text_of, width_of
from gputop.tui.drawing.severity_marks import severity_mark
from gputop.tui.panels.ledger import LETTERS, letter_of
from gputop.tui.widgets.bottom_line import BottomLine
from gputop.tui.widgets.canvas import Canvas

from support.clock import Clock
from support.tui_watch import (
    StillWatch,
    app_of,
    bare_gpu,
    changed,
    finding,
    judgement,
    running,
    with_gpu,
)

SIZE = (132, 43)


def text(app: GputopApp) -> str:
    return "\n".join(text_of(line) for line in app.screen.query_one(Canvas).lines)


def last_line(app: GputopApp) -> str:
    return app.screen.query_one(BottomLine).render_line(0).text


QUIET = {"stale", "dim", "title", "rule", "brand", "key", "mark"}


async def test_a_stale_gpu_shows_how_old_it_is() -> None:
    judged = with_gpu(judgement(), 7, status="stale", age_seconds=38.2)
    app, _ = app_of(judged)
    async with running(app):
        assert "✖ silent 38 s" in text(app)


async def test_a_lost_gpu_keeps_its_row() -> None:
    judged = with_gpu(
        judgement(), 3, status="lost", status_reason="fell off the bus", age_seconds=120.0
    )
    app, _ = app_of(judged)
    async with running(app):
        assert " 3 ✖ GPU is lost: fell off the bus · was rank 3 · last reading 2 min old" in text(
            app
        )
        assert " 4 r4 " in text(app)


async def test_a_guest_on_a_gpu_does_not_hide_the_rank_that_it_disturbs() -> None:
    app, _ = app_of(judgement("other-tenant"))
    async with running(app):
        row = next(line for line in text(app).splitlines() if line.startswith("  5 "))
    assert row.startswith("  5 r5 ") and "other tenant" in row
    assert row.split()[2] in ("forward", "backward", "optimizer", "comm", "data")


async def test_a_missing_value_is_a_dash_and_never_nought() -> None:
    app, _ = app_of(changed(judgement(), gpus=(bare_gpu(0),), jobs=()))
    async with running(app):
        row = next(line for line in text(app).splitlines() if line.startswith("  0 "))
    assert "–" in row and "0.0" not in row and " 0 " not in row[4:]


async def test_the_same_finding_on_many_gpus_is_one_line() -> None:
    judged = judgement()
    judged = type(judged)(
        frame=judged.frame,
        findings=tuple(finding("HW210", "utilization low", "warning", gpu) for gpu in range(6)),
    )
    app, _ = app_of(judged)
    async with running(app):
        assert "GPU 0-5" in text(app)
        assert text(app).count("HW210") == 1
        assert "▲ 1" in text(app)


async def test_a_healthy_node_says_that_nothing_was_found() -> None:
    judged = judgement()
    app, _ = app_of(type(judged)(frame=judged.frame))
    async with running(app):
        assert "✓ nothing found" in text(app)
        assert "✖ 0  ▲ 0  ● 0" in text(app)


async def test_no_rank_with_phases_no_ledger() -> None:
    app, _ = app_of(changed(judgement(), jobs=()))
    async with running(app):
        assert "Where the last" not in text(app)


async def test_silence_is_reported() -> None:
    clock = Clock()
    app, _ = app_of(clock=clock)
    async with running(app) as pilot:
        assert "NO NEWS" not in text(app)
        for _ in range(9):
            clock.now += 1
            app.reader.look(1.0)  # as each second: a jump of the clock is a stop of this program
        await pilot.pause(1.2)
        assert "NO NEWS 9.0 s" in text(app)
        assert "the collector has sent nothing for 9.0 s" in last_line(app)
        values = [span for line in app.screen.query_one(Canvas).lines[1:] for span in line]
        assert {role for said, role in values if said.strip()} <= QUIET
        await pilot.press("down", "enter")
        await pilot.pause()
        values = [span for line in app.screen.query_one(Canvas).lines[1:] for span in line]
        assert {role for said, role in values if said.strip()} <= QUIET


async def test_the_end_is_reported_with_its_reason() -> None:
    app, watch = app_of()
    async with running(app) as pilot:
        watch.end("the collector ended unexpectedly (signal 9)")
        await pilot.pause()
        assert "ENDED" in text(app)
        assert "the collector ended unexpectedly (signal 9); what is shown is old" in last_line(app)


async def test_before_the_first_reading() -> None:
    watch = StillWatch()
    app = GputopApp(watch)
    async with running(app) as pilot:
        await pilot.pause()
        assert "waiting for the first reading" in text(app)
        await pilot.press("down", "enter", "4", "6", "slash", "escape", "space", "plus")
        await pilot.pause()


async def test_the_past_is_not_drawn_piece_by_piece() -> None:
    watch = StillWatch(judgement(), judgement())
    watch.past_samples = 2
    app = GputopApp(watch)
    async with running(app) as pilot:
        await pilot.pause()
        assert "waiting" in text(app)
        watch.push(judgement())
        await pilot.pause()
        assert "── GPUs" in text(app)


@pytest.mark.parametrize("columns", [80, 132, 200])
async def test_ascii_is_ascii(columns: int) -> None:
    app, _ = app_of(judgement("gpu-lost"), ascii_only=True)
    async with running(app, (columns, 40)) as pilot:
        for keys in ((), ("down", "enter"), ("4",), ("6",), ("question_mark",)):
            await pilot.press(*keys)
            await pilot.pause()
            canvas = app.screen.query_one(Canvas)
            for y in range(len(canvas.lines)):
                assert canvas.render_line(y).text.isascii()
                painted = canvas.paint(y, 0, columns)
                assert painted is not None and painted.isascii()


async def test_no_color_is_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app, _ = app_of(judgement("input-bound"))
    async with running(app):
        canvas = app.screen.query_one(Canvas)
        for y in range(len(canvas.lines)):
            for segment in canvas.render_line(y):
                assert segment.style is None or segment.style.color is None
        assert "█ compute" in text(app) and "d data" in text(app)


async def test_another_width_at_the_same_height() -> None:
    app, _ = app_of()
    async with running(app) as pilot:
        for columns in (90, 200, 60, 132):
            await pilot.resize_terminal(columns, 43)
            await pilot.pause(0.2)
            assert {len(line) for line in text(app).splitlines()} == {columns}


@pytest.mark.parametrize(
    "keys", [("down", "enter"), ("4", "down", "down"), ("6",), ("question_mark",)]
)
async def test_every_screen_fills_every_size(keys: tuple[str, ...]) -> None:
    app, _ = app_of(judgement("gpu-lost"))
    async with running(app) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        for size in ((60, 16), (80, 24), (111, 31), (250, 70), (20, 5)):
            await pilot.resize_terminal(*size)
            await pilot.pause(0.1)
            lines = text(app).splitlines()
            assert {width_of(line) for line in lines} == {size[0]}
            assert len(lines) == size[1] - 1


async def test_help_scrolls_in_the_smallest_terminal() -> None:
    app, _ = app_of()
    async with running(app, (60, 16)) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        seen = text(app)
        assert "lines 1 to" in seen
        for _ in range(14):
            await pilot.press("pagedown")
            await pilot.pause()
            seen += text(app)
        for said in ("Keys", "Marks", "cleared, or nothing found", "Utilization in %"):
            assert said in seen


async def test_a_lost_gpu_in_full_says_since_when_and_shows_no_rows_of_dashes() -> None:
    app, _ = app_of(judgement("gpu-lost"))
    async with running(app) as pilot:
        await pilot.press(*["down"] * 4, "enter")
        await pilot.pause()
        shown = text(app)
    assert "lost: the driver says that this GPU is lost · last reading 60 s old" in shown
    assert "Xid 79" in shown and "– · default –" not in shown and "stops at –" not in shown


def test_without_colors_no_two_parts_of_a_bar_look_alike() -> None:
    letters = [*LETTERS.values(), *(letter_of(name) for name in ("rollout", "Sampling"))]
    for shown in (letters, [to_ascii(letter) for letter in letters]):
        assert len(set(shown)) == len(shown)


@pytest.mark.parametrize("severity", ["error", "warning", "info"])
async def test_findings_of_every_severity_are_counted(severity: Severity) -> None:
    judged = judgement()
    found = (finding("HW210", "utilization low", severity, 2),)
    app, _ = app_of(type(judged)(frame=judged.frame, findings=found))
    async with running(app):
        mark, _ = severity_mark(severity)
        assert f"{mark} 1" in text(app)


async def test_little_memory_is_not_nought() -> None:
    host = judgement().frame.host
    assert host is not None and host.memory_total_bytes is not None
    little = msgspec.structs.replace(
        host,
        memory_total_bytes=24 << 30,
        memory_available_bytes=(24 << 30) - (420 << 20),
    )
    app, _ = app_of(changed(judgement(), host=little))
    async with running(app):
        assert "0.4/24.0 GiB" in text(app)


@pytest.mark.parametrize("scenario", ["input-bound", "utilization-without-work"])
async def test_what_is_an_average_says_so(scenario: str) -> None:
    judged = judgement(scenario)
    app, _ = app_of(judged)
    averaged = [f for f in judged.active if f.id in ("HW210", "HW211")]
    assert averaged
    async with running(app) as pilot:
        await pilot.press("6")
        await pilot.pause()
        for each in averaged:
            assert any(evidence.mean_seconds for evidence in each.evidence)
        assert re.search(r"\d+ %.*, mean of (30|10) s", text(app))


async def test_a_finding_that_is_going_says_that_it_is_not_seen_any_more() -> None:
    judged = judgement()
    gone = msgspec.structs.replace(finding("HW208", "GPU lost", "error", 2), seen_seconds=52.0)
    app, _ = app_of(type(judged)(frame=judged.frame, findings=(gone,)))
    async with running(app):
        assert "not seen for 8.0 s" in text(app)
        assert text(app).count("GPU lost") == 1, "and its row does not say it"


async def test_symptoms_of_one_rule_with_two_names_are_reported_apart() -> None:
    judged = judgement("straggler")
    names = {each.subject.gpu: each.name for each in judged.active if each.id == "HW210"}
    assert names == {**dict.fromkeys(range(8), "SM activity low"), 3: "utilization low"}
    app, _ = app_of(judged)
    async with running(app):
        assert "utilization low, GPU 3 · SM activity low, GPU 0-2,4-7" in text(app)
