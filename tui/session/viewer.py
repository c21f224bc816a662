"""How the reader looks at things: what is held, filtered and sorted. Only the application changes it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from ...probes.model.frame import Frame
from ...probes.scheduling.words import starved_sentence
from ...rules.finding import Judgement
from ...rules.history import History
from ..drawing.format import clock, duration
from ..drawing.target import Target
from .followed_job import FollowedJob
from .silence import Silence
from .view import SORT_KEYS, Asked, SortKey, View, WatchLike

INTERVALS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
SLACK_SECONDS = 2.0


class Moment(NamedTuple):
    """A moment of the past, with what was known of the time before it."""

    judgement: Judgement
    history: History


class Reader(msgspec.Struct):
    """The newest judgement, the one that is held or looked back at, and the reader's requests."""

    watch: WatchLike
    clock: Callable[[], float] = time.monotonic
    shaded: bool = False
    newest: Judgement | None = None
    held: Judgement | None = None
    held_since: float = 0.0
    past: Moment | None = None
    ended: str | None = None
    sort: SortKey = "gpu"
    followed: FollowedJob | None = None
    """What the reader has come for, if for anything in particular."""
    may_stand_still: bool = False
    """Nothing has to come: it is a recording."""
    asked_interval_seconds: float | None = None
    """Between samples, as it was asked for last; the samples follow."""
    _silence: Silence | None = None

    @property
    def shown(self) -> Judgement | None:
        """The judgement that screens are drawn from."""
        return self.past.judgement if self.past else self.held or self.newest

    @property
    def interval_seconds(self) -> float:
        """Between samples, as the newest of them says."""
        return self.newest.frame.interval_seconds if self.newest else 1.0

    def take(self, judgement: Judgement) -> None:
        """Something new has come."""
        self.newest = judgement
        if self.followed is not None:
            self.followed.follow(judgement.frame)
        self._silent.came()

    def _asked(self, frame: Frame) -> Asked | None:
        """What has become of the process that is watched now, if it is one."""
        pid = self.watch.asked_pid
        if pid is None:
            return None
        if self.followed is None or self.followed.pid != pid:
            self.followed = FollowedJob(pid)
            self.followed.follow(frame)
        return self.followed.asked(frame)

    def toggle_hold(self) -> bool:
        """Hold what is shown, or let it go. Whether it is held now."""
        if self.held is not None:
            self.held = None
        elif self.newest is not None:
            self.held, self.held_since = self.newest, self.clock()
        return self.held is not None

    def next_sort(self) -> SortKey:
        """Sort by the next key."""
        self.sort = SORT_KEYS[(SORT_KEYS.index(self.sort) + 1) % len(SORT_KEYS)]
        return self.sort

    def interval_after(self, step: int) -> float:
        """The next longer or shorter interval, which the caller asks for."""
        now = self.asked_interval_seconds or self.interval_seconds
        longer = [seconds for seconds in INTERVALS if seconds > now * 1.01]
        shorter = [seconds for seconds in INTERVALS if seconds < now * 0.99]
        after = (longer or [INTERVALS[-1]])[0] if step > 0 else (shorter or [INTERVALS[0]])[-1]
        self.asked_interval_seconds = after
        return after

    def silent_seconds(self) -> float:
        """For how long nothing has come, where that is too long; else 0."""
        if self.newest is None or self.ended is not None or self.may_stand_still:
            return 0.0
        silent = self._silent.seconds
        return silent if silent > self._longest_silence else 0.0

    def look(self, meant_seconds: float) -> None:
        """Regularly, so many seconds after the last time: this process may have been stopped since."""
        self._silent.look(meant_seconds, late_after=self._longest_silence / 2)

    def standing(self) -> str:
        """That what is shown is old, and why; empty where it is not."""
        if self.past:
            moment = clock(self.past.judgement.frame.time_seconds)
            return f"this is the past, as it was judged at {moment}: End returns to now"
        if self.ended:
            return f"{self.ended}; what is shown is old"
        silent = self.silent_seconds()
        if not silent:
            starvation = self.newest.frame.starvation if self.newest else None
            return f"{starved_sentence(starvation)}: values are late" if starvation else ""
        if why := self._silent.why:
            return f"{why}: what is shown is {duration(silent)} old"
        return f"the collector has sent nothing for {duration(silent)}: what is shown is old"

    def _past_seconds(self, frame: Frame) -> float:
        """How much older it is than the newest."""
        return (self.newest.frame if self.newest else frame).time_seconds - frame.time_seconds

    @property
    def _longest_silence(self) -> float:
        return 3.0 * self.interval_seconds + SLACK_SECONDS

    @property
    def _silent(self) -> Silence:
        if self._silence is None:
            self._silence = Silence(lambda: self.watch.pids, self.clock)
        return self._silence

    def view(self, selected: Target | None, filter: str = "") -> View | None:
        """What to draw from; ``None`` before anything has come."""
        judgement = self.shown
        if judgement is None:
            return None
        return View(
            judgement=judgement,
            history=self.past.history if self.past else self.watch.history,
            title=self.watch.title,
            paused_seconds=None if self.held is None else self.clock() - self.held_since,
            past_seconds=self._past_seconds(judgement.frame) if self.past else None,
            silent_seconds=self.silent_seconds(),
            ended=self.ended,
            filter=filter,
            sort=self.sort,
            interval_seconds=self.interval_seconds,
            selected=selected,
            asked=self._asked(judgement.frame),
            shaded=self.shaded,
        )
