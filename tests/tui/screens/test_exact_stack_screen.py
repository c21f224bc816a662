"""A dump that stops a rank: asked for in words, agreed to, shown, and its end looked after."""

from __future__ import annotations

import re
import signal

import msgspec

from gputop.probes.model.rank_readings import StackFrameReading, StackReading, StackThreadReading
from gputop.probes.wire.messages import Reply
from gputop.tui.app.app import GputopApp
from gputop.tui.drawing.lines import text_of
from gputop.tui.widgets.bottom_line import BottomLine
from gputop.tui.widgets.canvas import Canvas

from support.tui_watch import app_of, running


def text(app: GputopApp) -> str:
    return "\n".join(text_of(line) for line in app.screen.query_one(Canvas).lines)


def last_line(app: GputopApp) -> str:
    return app.screen.query_one(BottomLine).render_line(0).text


def dumped(state_after: str) -> Reply:
    frames = (StackFrameReading(name="ncclGroupEnd", file="libnccl.so.2"),)
    reading = StackReading(
        monotonic_seconds=1.0,
        pid=51830,
        start_time_seconds=1.0,
        threads=(StackThreadReading(frames=frames, name="MainThread", main=True),),
        taken=1,
        duration_seconds=0.06,
        state_after=state_after,
    )
    return Reply(command_id=1, ok=True, data={"stack": msgspec.to_builtins(reading)})


async def test_the_pause_is_reported_before_anything_happens() -> None:
    app, watch = app_of()
    watch.reply = dumped("S")
    async with running(app, (160, 43)) as pilot:
        await pilot.press("5", "b")
        await pilot.pause()
        asked = re.search(r"stop pid (\d+) for about [\d.]+ ms .* up to 0\.3 s", last_line(app))
        assert asked, last_line(app)
        await pilot.press("q")
        assert watch.exact_stacks == []
        assert "it was not stopped" in last_line(app)
        for no in ("n", "escape", "enter", "Y", "space"):
            await pilot.press("b", no)
            await pilot.pause()
            assert watch.exact_stacks == [], no
        await pilot.press("b", "c")
        await pilot.pause()
        await pilot.pause()
        assert watch.exact_stacks == [(int(asked[1]), True)]
        assert app.screen.name == "exact-stack"
        assert "ncclGroupEnd (libnccl.so.2)" in text(app)
        assert "is stopped" not in last_line(app)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen.name == "stacks"
    assert watch.signals == []


async def test_a_process_that_stays_stopped_is_offered_to_go_on() -> None:
    app, watch = app_of()
    watch.reply = dumped("T")
    async with running(app, (160, 43)) as pilot:
        await pilot.press("5", "b", "y")
        await pilot.pause()
        await pilot.pause()
        assert "is stopped after the dump!" in last_line(app)
        assert "kill -CONT 51830" in text(app)
        (pid, native), *_ = watch.exact_stacks
        assert not native
        await pilot.press("c")
        await pilot.pause()
        assert watch.signals == [(pid, signal.SIGCONT)]


async def test_a_refusal_is_said() -> None:
    app, watch = app_of()
    watch.reply = Reply(command_id=1, ok=False, message="51830 is in state D")
    async with running(app, (160, 43)) as pilot:
        await pilot.press("5", "b", "y")
        await pilot.pause()
        await pilot.pause()
        assert "was not dumped: 51830 is in state D" in last_line(app)
        assert app.screen.name == "stacks"


async def test_a_simulation_has_no_other_stack() -> None:
    app, watch = app_of(simulated=True)
    async with running(app, (160, 43)) as pilot:
        await pilot.press("5", "b")
        assert "is not real" in last_line(app)
        assert watch.exact_stacks == []
