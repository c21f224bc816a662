"""The application: it owns all state and takes judgements from the watch."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...probes.model.job_frames import JobFrame
from ...rules.finding import Judgement
from ..console.exits import COULD_NOT_LOOK, INTERRUPTED, OK
from ..screens.picture_screen import PictureScreen
from ..session.job_order import ShownJob
from ..session.view import WatchLike
from ..session.viewer import Reader
from . import navigation, recorded
from .garbage import spare_garbage_collection
from .looking_back import LookingBack
from .messages import (
    Ended,
    EnvironmentRead,
    ExactStackRead,
    JobsFound,
    Judged,
    LookedBack,
)
from .picture_app import PictureApp
from .requests import Requests

if TYPE_CHECKING:  # what reads recordings is loaded for them alone
    from ...probes.feeds.replay import ReplayFeed
    from ..session.keeper import Keeper

_LOOK_SECONDS = 1.0


class GputopApp(PictureApp):
    """The screens over one watch.

    Args:
        watch: started here, closed by the caller.
        ascii_only: draw with ASCII alone.
        clock: monotonic seconds.
        note: what the reader should not forget, while it is not something newer.
        jobs: of which the reader is asked to choose one.
        replay: the recording that is watched, where it is one.
        keeper: of the last ten minutes, where they are kept.
        interval_seconds: between samples, as they were asked for; ``None``: as the first one says.
    """

    def __init__(
        self,
        watch: WatchLike,
        *,
        ascii_only: bool = False,
        clock: Callable[[], float] = time.monotonic,
        note: str = "",
        jobs: Sequence[JobFrame] = (),
        replay: ReplayFeed | None = None,
        keeper: Keeper | None = None,
        interval_seconds: float | None = None,
    ) -> None:
        super().__init__(ascii_only=ascii_only, note=note)
        self._jobs = jobs
        self._replay = replay
        self._keeper = keeper
        self._back = LookingBack(self, keeper)
        if keeper is not None:
            keeper.tell = self.tell_from_thread
        self.shown_job = ShownJob()
        self.reader = Reader(watch, clock, shaded=ascii_only or self.no_color)
        self.reader.may_stand_still = replay is not None
        self.reader.asked_interval_seconds = interval_seconds
        self._watch = watch
        self.requests = Requests(self, watch)

    def on_mount(self) -> None:
        to_come = itertools.count(-self._watch.past_samples)

        def on_judgement(judgement: Judgement) -> None:
            """Called from the worker thread. The past comes at once: it is not drawn piece by piece."""
            if next(to_come) >= 0:
                self.post_message(Judged(judgement))

        def on_end(reason: str) -> None:
            self.post_message(Ended(reason))

        self._watch.start(on_judgement, on_end, self.tell_from_thread)
        self._look_later()
        if self._jobs:
            navigation.show_jobs(self, self._jobs)

    def on_judged(self, message: Judged) -> None:
        first = self.reader.newest is None
        self.reader.take(message.judgement)
        if first:
            spare_garbage_collection()
            self.redraw()
        else:
            self.redraw_soon()

    def on_ended(self, message: Ended) -> None:
        self.reader.ended = message.reason
        self.redraw()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in recorded.ACTIONS and self._replay is None:
            return False
        if action == "seek" and self._replay is None and self._keeper is None:
            return False
        if action == "keep" and self._keeper is None:
            return False
        if action == "now" and not self._back.is_past:
            return False
        screen = self.screen if self.screen_stack else None
        return not (isinstance(screen, PictureScreen) and action in screen.WITHOUT)

    def action_keep(self) -> None:
        if self._keeper is not None:
            self._keeper.write_now()

    def action_seek(self, seconds: int) -> None:
        replay = self._replay
        self.tell(recorded.seek(replay, seconds) if replay else self._back.step(seconds))

    def action_now(self) -> None:
        self.tell(self._back.now())

    def on_looked_back(self, message: LookedBack) -> None:
        self._back.show(message.moment, message.judgement)

    def action_seek_finding(self) -> None:
        self.tell(recorded.seek_finding(self._replay))

    def action_speed(self, factor: float) -> None:
        self.tell(recorded.speed(self._replay, factor))

    def action_pause(self) -> None:
        if self._replay is not None:
            self.tell(recorded.pause(self._replay))
            return
        if self._back.is_past:
            self.action_now()
            return
        held = self.reader.toggle_hold()
        self.tell("paused: what is shown stands still" if held else "live again")
        self.redraw()

    def action_interval(self, step: int) -> None:
        seconds = self.reader.interval_after(step)
        self._watch.set_interval(seconds)
        self.tell(f"a sample every {seconds:g} s")

    async def action_quit(self) -> None:
        self.exit(return_code=COULD_NOT_LOOK if self.reader.ended else OK)

    def action_interrupt(self) -> None:
        self.exit(return_code=INTERRUPTED)

    def on_environment_read(self, message: EnvironmentRead) -> None:
        navigation.show_environment(self, message.process, message.environment)

    def on_exact_stack_read(self, message: ExactStackRead) -> None:
        screen = navigation.show_exact_stack(self, message.process, message.reading)
        if message.stopped:
            screen.call_after_refresh(self.requests.to_continue, message.process)

    def action_choose_job(self) -> None:
        self.requests.jobs()

    def on_jobs_found(self, message: JobsFound) -> None:
        navigation.show_jobs(self, message.jobs)

    def attach(self, pid: int) -> None:
        """Watch the job that this process belongs to, in the place of the one before."""
        self._back.now()
        self._watch.attach(pid)
        self.shown_job.forget()
        for screen in self.screen_stack:
            if isinstance(screen, PictureScreen):
                screen.begin_anew()
        self.tell(f"watching the job of pid {pid}")

    def _look_later(self) -> None:
        # A timer of Textual's would cost as much as drawing a panel.
        asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        """Once a second: time passes also when nothing comes."""
        if not self.is_running:
            return
        self.reader.look(_LOOK_SECONDS)
        if self.reader.held is not None or self.reader.silent_seconds():
            self.redraw()
        self._look_later()
