"""The keys of a recording: moving in it, its speed, standing still; live they do nothing."""

from __future__ import annotations

import time
from pathlib import Path

from gputop.probes.feeds.replay import ReplayFeed
from gputop.probes.recording.recording import Recording
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.tui.app.app import GputopApp
from gputop.tui.session.watch import Watch

from support.recordings import BEGAN, written
from support.tui_watch import app_of, running

LONG_SECONDS = 30.0


def moment(app: GputopApp) -> float:
    shown = app.reader.shown
    return shown.frame.time_seconds - BEGAN if shown else -1.0


async def test_moving_in_a_recording(tmp_path: Path) -> None:
    feed = ReplayFeed(Recording(written(tmp_path / "r.gtop")), BEGAN + 30, speed=0.1)
    app = GputopApp(Watch(feed, Engine(make_rules())), replay=feed)

    async def until(wanted: float) -> None:
        deadline = time.monotonic() + LONG_SECONDS
        while moment(app) != wanted and time.monotonic() < deadline:
            await pilot.pause(0.05)
        assert moment(app) == wanted

    async with running(app) as pilot:
        await until(30)
        await pilot.press("left_square_bracket")
        await until(20)
        await pilot.press("right_square_bracket", "right_square_bracket")
        await until(40)
        await pilot.press("left_curly_bracket")
        await until(0)
        await pilot.press("n")
        await until(20)
        await pilot.press("space")
        assert feed.paused
        await pilot.press("greater_than_sign")
        assert feed.speed == 0.2
        assert not app.reader.silent_seconds()
    feed.close()


async def test_live_there_is_nothing_to_move_in() -> None:
    app, _ = app_of()
    async with running(app) as pilot:
        before = app.reader.shown
        await pilot.press("left_square_bracket", "n", "greater_than_sign")
        await pilot.pause()
        assert app.reader.shown is before
