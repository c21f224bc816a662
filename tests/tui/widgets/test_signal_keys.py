"""Keys that signal a process, or all below it."""

from __future__ import annotations

import signal
from collections.abc import Callable

import msgspec
import psutil
import pytest
from textual.pilot import Pilot

from gputop.probes.sources.procfs.target import start_time_of
from gputop.probes.wire.messages import Reply
from gputop.rules.finding import Judgement
from gputop.tui.app.app import GputopApp
from gputop.tui.drawing.lines import text_of
from gputop.tui.screens.picture_screen import PictureScreen
from gputop.tui.widgets.bottom_line import BottomLine
from gputop.tui.widgets.canvas import Canvas

from support.ready_process import ready
from support.tui_watch import app_of, judgement, press, running


def shown(app: GputopApp) -> str:
    """What is on the screen, the last line too."""
    screen = app.screen
    lines = [text_of(line) for line in screen.query_one(Canvas).lines]
    bottom = screen.query_one(BottomLine)
    return "\n".join([*lines, bottom.render_line(0).text])


def with_real_process(pid: int) -> Judgement:
    """The only process of the node is one of this machine."""
    first = judgement()
    start = start_time_of(pid)
    assert start is not None
    rank = next(each for each in first.frame.processes if each.role == "rank")
    real = msgspec.structs.replace(rank, pid=pid, start_time_seconds=start)
    frame = msgspec.structs.replace(first.frame, processes=(real,))
    return msgspec.structs.replace(first, frame=frame)


async def wait_for(pilot: Pilot[int], done: Callable[[], bool]) -> None:
    """Until something comes from another thread, for ten seconds at most."""
    for _ in range(200):
        if done():
            return
        await pilot.pause(0.05)
    raise AssertionError("it has not come")


async def _select_a_process(pilot: Pilot[int]) -> int:
    await press(pilot, "4", "down", "down")
    screen = pilot.app.screen
    assert isinstance(screen, PictureScreen) and screen.selected
    return int(screen.selected.id.partition("@")[0])


async def test_a_signal_is_asked_for_named_and_sent() -> None:
    app, watch = app_of(judgement())
    async with running(app) as pilot:
        pid = await _select_a_process(pilot)
        await press(pilot, "x")
        assert f"signal pid {pid} (r0)?" in shown(app)
        assert "python -u train.py" in shown(app).splitlines()[-1]
        await press(pilot, "t")
        await pilot.pause()
        assert f"SIGTERM was sent to pid {pid}" in shown(app)
    assert watch.signals == [(pid, signal.SIGTERM)]


async def test_a_stopped_process_is_offered_to_go_on_first() -> None:
    first = judgement()
    stopped = tuple(
        msgspec.structs.replace(process, state="T") for process in first.frame.processes
    )
    frame = msgspec.structs.replace(first.frame, processes=stopped)
    app, watch = app_of(msgspec.structs.replace(first, frame=frame))
    async with running(app) as pilot:
        pid = await _select_a_process(pilot)
        await press(pilot, "x")
        assert "(r0)?  c CONT  t TERM" in shown(app)
        await press(pilot, "c")
        await pilot.pause()
        assert f"SIGCONT was sent to pid {pid}" in shown(app)
    assert watch.signals == [(pid, signal.SIGCONT)]


async def test_a_refused_signal_says_why() -> None:
    app, watch = app_of(judgement())
    watch.reply = Reply(command_id=1, ok=False, message="no permission")
    async with running(app) as pilot:
        await _select_a_process(pilot)
        await press(pilot, "x", "9")
        await pilot.pause()
        assert "SIGKILL was not sent: no permission" in shown(app)


async def _ask_for_all_below(pilot: Pilot[int], app: GputopApp) -> str:
    """The question, or what is said in its place, after the key for the whole tree."""
    await press(pilot, "x", "b")
    await wait_for(pilot, lambda: "looking for" not in shown(app).splitlines()[-1])
    return shown(app).splitlines()[-1]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(command_id=1, ok=True), "SIGTERM was sent to pid {pid} and 1 below it"),
        (Reply(command_id=1, ok=False, message="no permission"), "SIGTERM was not sent: no perm"),
    ],
    ids=["sent", "refused"],
)
async def test_a_whole_tree_is_named_and_signalled_from_the_top_down(
    reply: Reply, said: str
) -> None:
    with ready(["bash", "-c", "sleep 60 >&- & echo ready; wait"]) as pid:
        (child,) = psutil.Process(pid).children()
        app, watch = app_of(with_real_process(pid))
        watch.reply = reply
        async with running(app) as pilot:
            assert await _select_a_process(pilot) == pid
            asked = await _ask_for_all_below(pilot, app)
            assert f"signal pid {pid} and the 1 below it?" in asked
            assert str(child.pid) in asked
            assert not watch.signals
            await press(pilot, "t")
            await pilot.pause()
            assert said.format(pid=pid) in shown(app)
        assert watch.signals == [(pid, signal.SIGTERM), (child.pid, signal.SIGTERM)]
        child.kill()


async def test_a_whole_tree_gets_nothing_by_any_other_key() -> None:
    with ready(["bash", "-c", "sleep 60 >&- & echo ready; wait"]) as pid:
        app, watch = app_of(with_real_process(pid))
        async with running(app) as pilot:
            assert await _select_a_process(pilot) == pid
            asked = await _ask_for_all_below(pilot, app)
            assert f"signal pid {pid} and the 1 below it?" in asked
            await press(pilot, "b")
            assert "nothing was sent" in shown(app)
        assert not watch.signals
        for child in psutil.Process(pid).children():
            child.kill()


async def test_where_nothing_runs_below_nothing_is_sent() -> None:
    with ready(["bash", "-c", "echo ready; exec sleep 60"]) as pid:
        app, watch = app_of(with_real_process(pid))
        async with running(app) as pilot:
            assert await _select_a_process(pilot) == pid
            asked = await _ask_for_all_below(pilot, app)
            assert f"nothing runs below pid {pid}" in asked
        assert not watch.signals


@pytest.mark.parametrize("key", ["n", "y", "T", "escape", "q", "enter"])
async def test_any_other_key_sends_nothing(key: str) -> None:
    app, watch = app_of(judgement())
    async with running(app) as pilot:
        await _select_a_process(pilot)
        await press(pilot, "x", key)
        assert "nothing was sent" in shown(app)
        assert app.return_code is None
    assert not watch.signals


async def test_nothing_simulated_is_signalled() -> None:
    app, watch = app_of(judgement(), simulated=True, title="demo healthy")
    async with running(app) as pilot:
        pid = await _select_a_process(pilot)
        await press(pilot, "x")
        assert f"pid {pid} is not real" in shown(app)
        assert "demo healthy" in shown(app)
    assert not watch.signals


async def test_a_process_that_has_gone_is_not_signalled() -> None:
    first = judgement()
    app, watch = app_of(first)
    async with running(app) as pilot:
        await _select_a_process(pilot)
        frame = msgspec.structs.replace(first.frame, processes=())
        watch.push(msgspec.structs.replace(first, frame=frame))
        await pilot.pause()
        await press(pilot, "x")
        assert "that process has exited" in shown(app)
    assert not watch.signals
