"""Stepping back through the last ten minutes in the live application, while they go on being kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

from textual.pilot import Pilot

from gputop.probes.feeds.tapped import TappedFeed
from gputop.probes.model.sample import Sample
from gputop.probes.recording.recording import Recording
from gputop.probes.wire.command import Command
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.rules.finding import Judgement
from gputop.tui.app.app import GputopApp
from gputop.tui.drawing.lines import text_of
from gputop.tui.panels.top_line import top_line
from gputop.tui.session.keeper import Keeper
from gputop.tui.session.watch import Watch

from support.recordings import BEGAN, samples
from support.tui_watch import app_of, press, running

LONG_SECONDS = 30.0
GONE = 45
"""Seconds after which GPU 3 is not there any more."""


class ScriptedFeed:
    """Real samples of a simulated node: the first at once, others when a test says so."""

    simulated = True
    past_samples = 0
    title = "live"
    pids: tuple[int, ...] = ()

    def __init__(self, taken: tuple[Sample, ...], first: int) -> None:
        self._taken = taken
        self._allowed = threading.Semaphore(first)
        self._closed = False

    def messages(self) -> Iterator[Sample]:
        for sample in self._taken:
            self._allowed.acquire()
            if self._closed:
                return
            yield sample
        self._allowed.acquire()

    def more(self, count: int) -> None:
        self._allowed.release(count)

    def send(self, command: Command) -> None:
        """Nobody is there who could do it."""

    def close(self) -> str:
        self._closed = True
        self._allowed.release()
        return ""


class Live:
    """The application over such a feed, with all that was judged."""

    def __init__(self, count: int = 80, first: int = 70) -> None:
        healthy, lost = samples(count), samples(count, "gpu-lost")
        self.feed = ScriptedFeed((*healthy[:GONE], *lost[GONE:]), first)
        self.judged: dict[float, Judgement] = {}
        self.keeper = Keeper()
        tapped = TappedFeed(self.feed, self.keeper.sample)
        self.app = GputopApp(
            Watch(tapped, Engine(make_rules()), observe=self._observe), keeper=self.keeper
        )

    def _observe(self, judgement: Judgement) -> None:
        self.judged[judgement.frame.time_seconds - BEGAN] = judgement
        self.keeper.judgement(judgement)

    @property
    def shown(self) -> Judgement:
        assert self.app.reader.shown is not None
        return self.app.reader.shown

    @property
    def second(self) -> float:
        shown = self.app.reader.shown
        return shown.frame.time_seconds - BEGAN if shown else -1.0

    @property
    def header(self) -> str:
        view = self.app.view(None)
        assert view is not None
        return text_of(top_line(view, 132))

    async def until(self, second: float, pilot: Pilot[int]) -> None:
        deadline = time.monotonic() + LONG_SECONDS
        while self.second != second and time.monotonic() < deadline:
            await pilot.pause(0.05)
        assert self.second == second


async def test_what_was_judged_then_is_shown_and_what_comes_is_kept(tmp_path: Path) -> None:
    live = Live()
    async with running(live.app) as pilot:
        await live.until(69, pilot)
        assert "HW206" in {each.id for each in live.shown.active}
        await press(pilot, *["left_square_bracket"] * 3)
        await live.until(39, pilot)
        then = live.judged[39]
        assert live.shown.findings == then.findings and live.shown.accounts == then.accounts
        assert "HW206" not in {each.id for each in live.shown.active}
        assert (live.shown.frame.gpus, live.shown.frame.processes) == (
            then.frame.gpus,
            then.frame.processes,
        )
        assert "PAST 30 s ago" in live.header
        assert "this is the past" in live.app.standing() and "End" in live.app.standing()

        live.feed.more(5)
        deadline = time.monotonic() + LONG_SECONDS
        while 74.0 not in live.judged and time.monotonic() < deadline:
            await pilot.pause(0.05)
        await pilot.pause(0.2)
        assert live.second == 39  # nothing that comes disturbs who looks back
        assert live.keeper.write(tmp_path / "kept.gtop").startswith("the last ten minutes")
        assert Recording(tmp_path / "kept.gtop").last_seconds == BEGAN + 74

        await press(pilot, "right_square_bracket")
        await live.until(49, pilot)
        await press(pilot, "end")
        await live.until(74, pilot)
        assert "PAST" not in live.header and "past" not in live.app.standing()
    live.feed.close()


async def test_charts_end_at_the_moment_that_is_shown() -> None:
    live = Live()
    async with running(live.app) as pilot:
        await live.until(69, pilot)
        await press(pilot, "left_curly_bracket")
        await live.until(9, pilot)
        view = live.app.view(None)
        assert view is not None
        assert abs(view.history.seconds() - 9.0) < 0.01
        past = view.history.gpu(0, "utilization_ratio").window(60.0)
        assert len(past) == 10 or len(past) == 9  # a rate needs two samples
    live.feed.close()


async def test_there_is_a_first_moment_and_a_last() -> None:
    live = Live()
    async with running(live.app) as pilot:
        await live.until(69, pilot)
        await press(pilot, *["left_curly_bracket"] * 3)
        await live.until(0, pilot)
        await press(pilot, "left_square_bracket")
        assert live.second == 0
        await press(pilot, "right_curly_bracket")
        await live.until(60, pilot)
        await press(pilot, "right_square_bracket")  # beyond the newest: that is now
        await live.until(69, pilot)
        assert "PAST" not in live.header
        await press(pilot, "left_square_bracket")
        await live.until(59, pilot)
        await press(pilot, "space")
        await live.until(69, pilot)
    live.feed.close()


async def test_keys_faster_than_moments_are_worked_out() -> None:
    live = Live()
    async with running(live.app) as pilot:
        await live.until(69, pilot)
        await pilot.press(*["left_square_bracket"] * 6, *["right_square_bracket"] * 2)
        await live.until(29, pilot)
        await pilot.press("left_square_bracket", "end")
        await pilot.pause(1.0)
        assert live.second == 69  # one that comes late is not shown
    live.feed.close()


async def test_end_goes_to_the_last_row_where_nothing_is_past() -> None:
    app, _ = app_of()
    async with running(app) as pilot:
        await press(pilot, "end")
        assert app.screen.selected is not None  # type: ignore[attr-defined]
