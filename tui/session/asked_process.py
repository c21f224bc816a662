"""The process that was asked about, for the commands that work without a screen."""

from __future__ import annotations

from collections.abc import Iterator

from ...probes.feeds.protocol import FeedError
from ...probes.model.frame import Frame
from ...rules.finding import Judgement
from .deadline import LONGEST_SECONDS, Deadline
from .look_time import LookTime
from .watch import Watch


class AskedProcess:
    """The process that was asked about, from frame to frame: its number may come to mean another one."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._began: float | None = None
        self.ended = False
        """It was there, and is not any more."""
        self.looks = 0
        """Frames in which it was there."""

    def follow(self, frame: Frame) -> None:
        """Look for it in a frame."""
        process = frame.process(self.pid)
        if process is None:
            processes = frame.source("processes")
            self.ended |= processes is not None and processes.status == "ok"
            return
        self.looks += 1
        if self._began is None:
            self._began = process.start_time_seconds
        unreaped = process.state in ("Z", "X") and (process.threads or 0) <= 1
        self.ended |= unreaped or process.start_time_seconds != self._began


def until(
    watch: Watch, seconds: float, timeout_seconds: float | None = None
) -> Iterator[Judgement]:
    """What is judged in the next so many seconds in which the collector was run.

    Args:
        watch: closed where nothing comes for too long.
        seconds: by the clock of the samples.
        timeout_seconds: after which it ends whatever comes; ``None``: only where nothing comes, or
            the collector is not run for a minute.

    Raises:
        FeedError: when the feed cannot go on, or nothing has come at all.
    """
    time = LookTime()
    come = False
    with Deadline(watch, timeout_seconds) as deadline:
        for judgement in watch.judgements():
            deadline.came()
            come = True
            time.take(judgement.frame)
            yield judgement
            if time.seconds >= seconds or time.whole_seconds >= seconds + LONGEST_SECONDS:
                return
    if deadline.why and not come:
        raise FeedError(deadline.why)
    watch.cut_short = deadline.why
