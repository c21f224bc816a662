"""Each key does what the help says."""

from __future__ import annotations

import base64
import random
import re

import pytest

from gputop.tui.app.app import GputopApp
from gputop.tui.drawing.lines import text_of
from gputop.tui.drawing.target import gpu_target
from gputop.tui.screens.picture_screen import PictureScreen
from gputop.tui.widgets.bottom_line import BottomLine
from gputop.tui.widgets.canvas import Canvas
from gputop.tui.widgets.keys import all_keys

from support.clock import Clock
from support.tui_watch import app_of, judgement, played, press, running, with_gpu

SIZE = (132, 43)


def shown(app: GputopApp) -> str:
    """What is on the screen, the last line too."""
    screen = app.screen
    lines = [text_of(line) for line in screen.query_one(Canvas).lines]
    bottom = screen.query_one(BottomLine)
    return "\n".join([*lines, bottom.render_line(0).text])


def the_screen(app: GputopApp) -> PictureScreen:
    assert isinstance(app.screen, PictureScreen)
    return app.screen


@pytest.mark.parametrize(
    ("key", "ended", "code"),
    [("q", False, 0), ("ctrl+q", False, 0), ("ctrl+c", False, 130), ("q", True, 2)],
)
async def test_quitting(key: str, ended: bool, code: int) -> None:
    app, watch = app_of()
    async with running(app) as pilot:
        if ended:
            watch.end("the collector ended unexpectedly (signal 9)")
            await pilot.pause()
        await press(pilot, key)
    assert app.return_code == code


@pytest.mark.parametrize("size", [(20, 5), (1, 1), (59, 16)])
async def test_a_tiny_terminal_still_quits(size: tuple[int, int]) -> None:
    app, _ = app_of()
    async with running(app, size) as pilot:
        await press(pilot, "down", "4", "question_mark", "6", "q")
    assert app.return_code == 0


async def test_help_is_made_of_the_bindings() -> None:
    app, _ = app_of()
    async with running(app) as pilot:
        known = all_keys(app.screen)
        await press(pilot, "question_mark")
        text = shown(app)
        for keys in known:
            assert keys.does in text and keys.names in text
        await press(pilot, "escape")
        assert "── GPUs" in shown(app)


async def test_the_last_line_tells_the_keys() -> None:
    app, _ = app_of()
    async with running(app):
        last = shown(app).splitlines()[-1]
    screens = "1 GPUs 2 job 3 links 4 procs 5 stacks 6 findings"
    assert f"Enter detail  ? help  q quit  {screens}  / filter  s sort  Space pause" in last


async def test_pausing_holds_the_frame_while_history_goes_on() -> None:
    first, second, _ = played("thermal-throttle")
    clock = Clock()
    app, watch = app_of(first, clock=clock)
    async with running(app) as pilot:
        await press(pilot, "space")
        assert "PAUSED" in shown(app)
        held = shown(app).splitlines()[1:-1]
        clock.now += 12
        watch.push(second)
        await pilot.pause()
        assert "PAUSED 12 s" in shown(app)
        assert shown(app).splitlines()[1:-1] == held
        await press(pilot, "space")
        assert "PAUSED" not in shown(app)
        assert shown(app).splitlines()[1:-1] != held


async def test_filtering_processes_and_findings() -> None:
    app, _ = app_of(judgement("thermal-throttle"))
    async with running(app) as pilot:
        await press(pilot, "slash", *"worker", "enter")
        text = shown(app)
        assert "matching 'worker'" in text and "filter worker" in text
        assert " r0 worker" in text and "launcher" not in text
        await press(pilot, "escape")
        assert "matching" not in shown(app)
        await press(pilot, "6", "slash", *"thermal", "enter")
        assert "matching 'thermal'" in shown(app) and "HW201" in shown(app)
        await press(pilot, "slash", *"x", "enter")
        assert "no finding matches 'thermalx'" in shown(app)


@pytest.mark.parametrize("keys", [(), ("4",)], ids=["main", "processes"])
async def test_a_filter_hides_no_finding(keys: tuple[str, ...]) -> None:
    app, _ = app_of(judgement("thermal-throttle"))
    async with running(app) as pilot:
        await press(pilot, *keys, "slash", *"no such thing", "enter")
        assert "filter no such thing" in shown(app)
        if keys:
            await press(pilot, "6")
            assert "HW201" in shown(app) and "filter no" not in shown(app)
            await press(pilot, "escape")
        assert "▲ HW201" in shown(app) and "▲ 1" in shown(app)


SCREENS = {
    "main": (),
    "gpu": ("down", "enter"),
    "processes": ("4",),
    "findings": ("6",),
    "help": ("question_mark",),
}


ACTS = {"slash": "filter", "s": "sort", "x": "signal the process"}


@pytest.mark.parametrize("key", ACTS)
@pytest.mark.parametrize("where", SCREENS)
async def test_a_key_is_reported_where_it_does_something_and_nowhere_else(
    where: str, key: str
) -> None:
    app, _ = app_of(judgement("thermal-throttle"))
    async with running(app) as pilot:
        await press(pilot, *SCREENS[where])
        reported = {keys.does for keys in all_keys(app.screen)}
        before = shown(app)
        await press(pilot, key)
        assert (shown(app) != before) is (ACTS[key] in reported)


@pytest.mark.parametrize(
    "keys",
    [
        ["2", "enter", "2"],
        ["6", "enter", "2", "enter", "2"],
        ["4", "question_mark"] * 4 + ["4"],
        ["4", "question_mark", "4", "2", "question_mark", "2"],
    ],
)
async def test_a_screen_may_be_asked_for_again_on_the_way_from_it(keys: list[str]) -> None:
    app, _ = app_of(judgement("thermal-throttle"))
    async with running(app) as pilot:
        await press(pilot, *keys)
        assert app.screen.name == {"2": "job", "4": "processes"}[keys[-1]]
        await press(pilot, "1")
        assert len(app.screen_stack) == 1
    assert app.return_code is None


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.unmeasured) for seed in range(1, 4))]
)
async def test_no_row_of_keys_ends_it(seed: int) -> None:
    keys = [*"123456?/stnhljkgGaeb+- ", "enter", "escape", "up", "down", "tab", "pageup", "end"]
    app, _ = app_of(judgement("gpu-lost"))
    async with running(app, (100, 30)) as pilot:
        for key in random.Random(seed).choices(keys, k=150):
            await pilot.press(key)
        await pilot.pause()
        assert app.screen_stack
    assert app.return_code is None


async def test_no_key_does_two_things() -> None:
    app, _ = app_of(judgement("thermal-throttle"))
    async with running(app) as pilot:
        for keys in SCREENS.values():
            await press(pilot, *keys)
            names = [name for reported in all_keys(app.screen) for name in reported.names.split()]
            assert len(names) == len(set(names)), (app.screen.name, sorted(names))
            await press(pilot, "escape", "escape")


async def test_while_a_filter_is_typed_its_keys_do_nothing_else() -> None:
    app, _ = app_of()
    async with running(app) as pilot:
        await press(pilot, "slash", *"q4s")
        assert the_screen(app).filter == "q4s"
        await press(pilot, "escape")
        assert the_screen(app).filter == ""
        assert app.return_code is None


async def test_sorting_says_by_what() -> None:
    app, _ = app_of()
    async with running(app) as pilot:
        seen = []
        for _ in range(5):
            await press(pilot, "s")
            found = re.search(r"Processes by (\w+)", shown(app))
            assert found
            seen.append(found.group(1))
    assert seen == ["memory", "SM", "CPU", "RSS", "gpu"]


@pytest.mark.parametrize(
    "keys", [("down", "down", "enter"), ("j", "j", "l"), ("j", "j", "j", "k", "right")]
)
async def test_into_a_gpu_and_back(keys: tuple[str, ...]) -> None:
    app, _ = app_of()
    async with running(app) as pilot:
        await press(pilot, *keys)
        assert "GPU 1  NVIDIA H100" in shown(app)
        await press(pilot, "pagedown")
        assert "retired pages" in shown(app) and "not supported by this GPU" in shown(app)
        await press(pilot, "l")
        assert "GPU 2  NVIDIA H100" in shown(app)
        await press(pilot, "h", "h", "h")
        assert "GPU 7  NVIDIA H100" in shown(app)
        await press(pilot, "escape")
        assert "── GPUs" in shown(app)


async def test_a_selected_gpu_tells_why_values_are_missing() -> None:
    judged = with_gpu(
        judgement(),
        0,
        tensor_active_ratio=None,
        missing={"tensor_active_ratio": "not on this chip"},
    )
    app, _ = app_of(judged)
    async with running(app) as pilot:
        await press(pilot, "down")
        screen = app.screen
        assert isinstance(screen, PictureScreen) and screen.selected == gpu_target(0)
        assert "GPU 0: tensor active not on this chip" in shown(app)


async def test_tab_goes_from_panel_to_panel() -> None:
    app, _ = app_of(judgement("thermal-throttle"))
    async with running(app) as pilot:
        kinds = []
        for _ in range(4):
            await press(pilot, "tab")
            screen = app.screen
            assert isinstance(screen, PictureScreen) and screen.selected
            kinds.append(screen.selected.kind)
        await press(pilot, "shift+tab")
        screen = app.screen
        assert isinstance(screen, PictureScreen) and screen.selected
        assert screen.selected.kind == "process"
    assert kinds == ["gpu", "finding", "process", "gpu"]


async def test_numbers_are_screens() -> None:
    app, _ = app_of(judgement("thermal-throttle"))
    async with running(app) as pilot:
        await press(pilot, "4")
        assert "train.py · 8 ranks · mara" in shown(app) and "├ python" in shown(app)
        await press(pilot, "6")
        assert "Evidence" in shown(app) and "Mitigation" in shown(app)
        assert len(app.screen_stack) == 2
        await press(pilot, "1")
        assert "── GPUs" in shown(app)
        assert len(app.screen_stack) == 1


async def test_a_finding_opens_in_full_and_is_copied() -> None:
    app, _ = app_of(judgement("thermal-throttle"))
    async with running(app) as pilot:
        await press(pilot, "tab", "tab", "enter")
        assert "▸▲ HW201" in shown(app)
        await press(pilot, "y")
        assert "copied as Markdown" in shown(app)
    assert app.clipboard.startswith("### HW201 thermal slowdown: GPU 6 on node17")
    assert "- temperature 86 °C ≥ 82 °C" in app.clipboard
    assert base64.b64encode(app.clipboard.encode())


async def test_the_interval_is_changed_in_steps() -> None:
    app, watch = app_of()
    async with running(app) as pilot:
        await press(pilot, "plus", "plus", "minus", "minus", "minus")
        assert "a sample every 0.5 s" in shown(app)
    # Each goes on from what was asked for last, not from the sample that has not come yet.
    assert watch.intervals == [2.0, 5.0, 2.0, 1.0, 0.5]


async def test_themes_take_turns() -> None:
    app, _ = app_of()
    async with running(app) as pilot:
        names = []
        for _ in range(3):
            await press(pilot, "t")
            names.append(app.theme)
    assert names == ["dark", "light", "terminal"]


async def test_the_mouse_selects_and_scrolls() -> None:
    app, _ = app_of()
    async with running(app) as pilot:
        await pilot.click(Canvas, offset=(5, 4))
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, PictureScreen) and screen.selected == gpu_target(1)
