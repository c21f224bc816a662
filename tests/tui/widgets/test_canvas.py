"""What the terminal is sent: the cells that changed, and nothing of the others."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Region

from gputop.tui.drawing.lines import Line, LineBuilder, plain, text_of
from gputop.tui.screens.picture_screen import PictureScreen
from gputop.tui.widgets.canvas import Canvas
from gputop.tui.widgets.compositor import RunsUpdate

from support.tui_watch import app_of, judgement, played

CODES = re.compile(r"\x1b\[[0-9;]*m")
WIDTH = 40
SPANS = st.lists(
    st.tuples(st.text(max_size=20).map(plain), st.sampled_from(["text", "dim", "mark"])),
    max_size=6,
)


def unmounted(line: Line) -> Canvas:
    canvas = Canvas()
    canvas.__dict__["_lines"] = [line]
    canvas.__dict__["_codes"] = {"dim": ("2", ""), "mark": ("1;7", "reverse")}
    return canvas


@given(SPANS, st.integers(0, WIDTH), st.integers(0, WIDTH))
def test_a_run_is_sent_as_it_stands_in_the_line(
    spans: list[tuple[str, str]], start: int, end: int
) -> None:
    line = LineBuilder(WIDTH).extend(spans).line()
    sent = unmounted(line).paint(0, start, end)
    text = text_of(line)
    if len(text) == WIDTH:  # one cell a character; else strips do it
        assert sent is not None
        assert CODES.sub("", sent) == text[start : max(start, end)]
    elif sent is not None:
        # Wide characters may lie behind the run.
        assert CODES.sub("", sent) in text


def test_a_style_is_sent_once_and_ended() -> None:
    line = (("ab", "dim"), ("cd", "dim"), ("  ", "text"), ("ef", "dim"), ("!", "mark"))
    assert unmounted(line).paint(0, 0, 9) == "\x1b[0;2mabcd\x1b[0m  \x1b[0;2mef\x1b[0;1;7m!\x1b[0m"


async def test_a_tick_sends_only_runs() -> None:
    first, second, _ = played("thermal-throttle")
    app, watch = app_of(first)
    async with app.run_test(size=(200, 50)) as pilot:
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, PictureScreen)
        canvas = screen.query_one(Canvas)
        before = list(canvas.lines)
        sent: list[object] = []
        compositor = screen._compositor
        partial = compositor.render_partial_update

        def spy() -> object:
            update = partial()
            sent.append(update)
            return update

        compositor.render_partial_update = spy  # type: ignore[method-assign,assignment]
        watch.push(second)
        await pilot.pause()
        app.redraw()
        await pilot.pause(0.1)
    updates = [update for update in sent if update is not None]
    assert updates and all(isinstance(update, RunsUpdate) for update in updates)
    runs = [run for update in updates if isinstance(update, RunsUpdate) for run in update.runs]
    cells = sum(len(CODES.sub("", text)) for _, _, text in runs)
    assert 0 < cells < 200 * 50 / 4
    after = [list(text_of(line)) for line in canvas.lines]
    grid = [list(text_of(line)) for line in before]
    for y, x, text in runs:
        plainly = CODES.sub("", text)
        grid[y][x : x + len(plainly)] = plainly
    assert grid == after


async def test_the_same_picture_again_sends_nothing() -> None:
    app, _ = app_of(judgement())
    async with app.run_test(size=(132, 43)) as pilot:
        await pilot.pause()
        canvas = app.screen.query_one(Canvas)
        regions: list[Region] = []
        canvas.refresh = lambda *found, **_: regions.extend(found) or canvas  # type: ignore[func-returns-value,method-assign]
        app.redraw()
        assert not regions
