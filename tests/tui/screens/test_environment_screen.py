"""The environment of one process: only when asked for, scrolled and filtered, and refused in words."""

from __future__ import annotations

from gputop.probes.wire.messages import Reply
from gputop.tui.app.app import GputopApp
from gputop.tui.drawing.lines import text_of
from gputop.tui.widgets.bottom_line import BottomLine
from gputop.tui.widgets.canvas import Canvas

from support.tui_watch import app_of, running

FOUND = {"HOME": "/home/mara", "API_TOKEN": "s3cret", "ODD": "a\x1b[31mb", "RANK": "0"}


def text(app: GputopApp) -> str:
    return "\n".join(text_of(line) for line in app.screen.query_one(Canvas).lines)


def last_line(app: GputopApp) -> str:
    return app.screen.query_one(BottomLine).render_line(0).text


async def test_it_is_shown_when_asked_for() -> None:
    app, watch = app_of()
    watch.reply = Reply(command_id=1, ok=True, data={"environment": FOUND})
    async with running(app, (80, 24)) as pilot:
        await pilot.press("4", "down", "down")
        assert watch.asked_environments == []
        await pilot.press("e")
        await pilot.pause()
        await pilot.pause()
        assert app.screen.name == "environment"
        (asked,) = watch.asked_environments
        lines = text(app).splitlines()
        assert f"Environment of pid {asked}" in lines[1]
        assert [line.split("=")[0].strip() for line in lines[2:6]] == sorted(FOUND)
        assert "ODD=a?[31mb" in text(app)
        await pilot.press("slash", *"home", "enter")
        assert "HOME=/home/mara" in text(app) and "s3cret" not in text(app)
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert app.screen.name == "processes"
        assert "s3cret" not in text(app)


async def test_a_refusal_is_said() -> None:
    app, watch = app_of()
    watch.reply = Reply(command_id=1, ok=False, message="it belongs to user ida")
    async with running(app, (132, 43)) as pilot:
        await pilot.press("4", "down", "e")
        await pilot.pause()
        await pilot.pause()
        assert app.screen.name == "processes"
        assert "was not read: it belongs to user ida" in last_line(app)


async def test_nothing_is_asked_of_a_simulation_or_without_a_selection() -> None:
    app, watch = app_of(simulated=True)
    async with running(app, (80, 24)) as pilot:
        await pilot.press("4", "e")
        assert "select a process first" in last_line(app)
        await pilot.press("down", "e")
        assert "is not real" in last_line(app)
        assert watch.asked_environments == []
