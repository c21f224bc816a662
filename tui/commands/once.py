"""One frame, and out: as text that a pipe, a ticket or a log can hold, or as JSON."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import Namespace
from textwrap import wrap

from ...probes.feeds.protocol import FeedError
from ...probes.model.frame import Frame
from ...rules.finding import Judgement
from ..console.exits import COULD_NOT_LOOK, FINDINGS, OK, complain
from ..console.output import say, say_json
from ..drawing.lines import text_of, width_of
from ..drawing.missing import (
    HELP_WITHOUT_DRIVER,
    all_refused,
    mute_gpus,
    unread_gpus,
    unreadable_gpus,
    why_no_gpus,
    why_processes_unread,
)
from ..panels.main import draw
from ..session.deadline import LONGEST_SECONDS, Deadline
from ..session.followed_job import FollowedJob
from ..session.look_time import LookTime
from ..session.view import MIN_WIDTH, Asked, View
from ..session.watch import Watch

LOOK_SECONDS = 1.0
"""Rates need two readings; these are so far apart."""
PATIENCE_SECONDS = 6.0
"""For a driver that takes its time to start, or a GPU to answer; from 5 s on its silence is a finding."""
PIPE_WIDTH = 132
_UNCUT = 10_000
"""Cells, for what has no end of its own."""
_ENOUGH_LINES = 400


def print_once(watch: Watch, options: Namespace) -> int:
    """Watch for a second, print the last frame; returns the exit code.

    Raises:
        FeedError: when the feed ends before.
    """
    try:
        judgement = _look(watch, options)
    finally:
        watch.close()
        for line in filter(None, (watch.stuck, watch.cut_short)):
            complain(line)
    why = why_no_gpus(judgement.frame)
    if why and not options.pid and not judgement.frame.gpus:
        return complain(f"{why}; {HELP_WITHOUT_DRIVER}", COULD_NOT_LOOK)
    unseen = [pid for pid in options.pid if pid not in _pids(judgement.frame)]
    if unseen:
        unread = why_processes_unread(judgement.frame)
        what = f"was not looked at: {unread}" if unread else "has exited"
        return complain(f"process {unseen[0]} {what}", COULD_NOT_LOOK)
    if options.format == "json":
        say_json(as_json(judgement))
    else:
        say(as_text(judgement, watch, limit=_limit()), ascii_only=options.ascii)
    why = why or all_refused(judgement.frame)
    if why and not options.pid:
        return complain(why, COULD_NOT_LOOK)
    return FINDINGS if unreadable_gpus(judgement.frame) else OK


def _pids(frame: Frame) -> set[int]:
    return {process.pid for process in frame.processes}


def as_json(judgement: Judgement) -> bytes:
    """The frame with its findings as one JSON object under the public names."""
    from ..reports.json_output import frame_json

    return frame_json(judgement)


def as_text(judgement: Judgement, watch: Watch, *, limit: int | None) -> str:
    """The main screen without its colors, as many lines as it needs.

    Args:
        judgement: what to show.
        watch: where it is from.
        limit: cells of the widest line; ``None`` where nothing is to be cut.
    """
    width = PIPE_WIDTH if limit is None else max(MIN_WIDTH, limit)
    view = View(
        judgement=judgement,
        history=watch.history,
        title=watch.title,
        asked=_asked(judgement.frame, watch.asked_pid),
        shaded=True,
        once=True,
    )
    picture = draw(
        view,
        width,
        _ENOUGH_LINES,
        findings_width=_UNCUT,
        processes_width=_UNCUT if limit is None else width,
    )
    lines = (text_of(line).rstrip() for line in picture.lines)
    if limit is not None:
        lines = (part for line in lines for part in _wrapped(line, width))
    doubts = (f" {sentence}" for sentence in unread_gpus(judgement.frame))
    return "\n".join(line for line in (*lines, *doubts) if line)


def _asked(frame: Frame, pid: int | None) -> Asked | None:
    if pid is None:
        return None
    followed = FollowedJob(pid)
    followed.follow(frame)
    return followed.asked(frame)


def _limit() -> int | None:
    """The terminal's width, or what the user says; a pipe has none of its own."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal():
        return shutil.get_terminal_size((PIPE_WIDTH, 24)).columns
    return None


def _wrapped(line: str, width: int) -> list[str]:
    """Findings tell the cause and what to do: the end of it goes below."""
    if width_of(line) <= width:
        return [line]
    return wrap(line, width, subsequent_indent=" " * 9, drop_whitespace=True)


def print_scenarios() -> int:
    """Print what ``gputop demo`` can play; returns the exit code."""
    from ...probes.simulator import SCENARIOS

    width = max(map(len, SCENARIOS))
    say("\n".join(f"{name:{width}}  {each.summary}" for name, each in SCENARIOS.items()))
    return OK


def _look(watch: Watch, options: Namespace) -> Judgement:
    """The judgement of a frame that has rates, and all that answers in good time.

    Raises:
        FeedError: when the feed ends before.
    """
    time = LookTime()
    judgement: Judgement | None = None
    with Deadline(watch, options.timeout) as deadline:
        for number, judgement in enumerate(watch.judgements()):
            deadline.came()
            if number < watch.past_samples or options.source:
                continue  # of a recording the last frame is the one that was asked for
            time.take(judgement.frame)
            needed = _needed_seconds(judgement.frame, options)
            if watch.past_samples or time.seconds >= needed:
                return judgement
            if time.whole_seconds >= LONGEST_SECONDS:
                return judgement
    if judgement is None:
        raise FeedError(deadline.why or "the collector has ended")
    watch.cut_short = deadline.why
    return judgement


def _needed_seconds(frame: Frame, options: Namespace) -> float:
    source = frame.source("nvml")
    slow = source is not None and source.status == "stale" and not frame.gpus
    unread = mute_gpus(frame) or any(not gpu.ever_read and not gpu.fault_code for gpu in frame.gpus)
    hidden = bool(options.pid) and bool(why_processes_unread(frame))
    return PATIENCE_SECONDS if slow or unread or hidden else LOOK_SECONDS
