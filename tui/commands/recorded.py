"""What the commands that take ``--from FILE`` look at, instead of this node."""

from __future__ import annotations

import re
import time
from argparse import Namespace
from datetime import datetime
from pathlib import Path

from ...probes.feeds.protocol import FeedError
from ...probes.feeds.replay import PAST_SECONDS, ReplayFeed
from ...probes.recording.capsule import unpacked
from ...probes.recording.recording import Recording
from ...probes.recording.segment import RecordingError
from ..console.errors import UsageError

DIAGNOSED_SECONDS = 600.0
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?")
_AGO = re.compile(r"-(\d+(?:\.\d+)?)([smh]?)")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_DAY_SECONDS = 86400.0
_TIME_HELP = "as 22:10:05, 2026-11-30T22:10:05+01:00, or -5m before its end"


def recorded(options: Namespace) -> ReplayFeed:
    """The feed of a recording.

    Raises:
        FeedError: where it cannot be read, or has nothing of that time.
        UsageError: where the time is none.
    """
    recording = opened(options.source)
    at = recording.first_seconds if options.command == "replay" else recording.last_seconds
    if options.at:
        at = moment(options.at, recording)
    if not recording.first_seconds <= at <= recording.last_seconds:
        raise FeedError(f"{options.source} has nothing of {_local(at)}: {_span(recording)}")
    if options.command == "replay":
        return ReplayFeed(recording, at, speed=options.speed)
    past = PAST_SECONDS
    if options.command == "diagnose":
        past = options.seconds if options.seconds_given else DIAGNOSED_SECONDS
    return ReplayFeed(recording, at, past_seconds=past)


def opened(name: str) -> Recording:
    """The recording of that name, in that file, or in that capsule.

    Raises:
        FeedError: where there is none.
    """
    path = Path(name)
    try:
        inside = unpacked(path)
        recording = Recording(inside or path)
    except RecordingError as error:
        raise FeedError(str(error)) from error
    if inside is not None:
        recording.unreadable = [each.replace(str(inside), name) for each in recording.unreadable]
    return recording


def span(begin: str | None, end: str | None, recording: Recording) -> tuple[float, float]:
    """Unix times of what of a recording is meant, both in words; where none are given, all of it.

    Raises:
        UsageError: where they are none, or in the wrong order.
    """
    first = moment(begin, recording) if begin else recording.first_seconds
    last = moment(end, recording) if end else recording.last_seconds
    if first > last:
        raise UsageError(f"{_local(first)} is after {_local(last)}: nothing lies between")
    return first, last


def nothing_between(source: str, begin: float, end: float, recording: Recording) -> str:
    """Why a part of a recording is empty: one sentence."""
    return f"{source} has nothing from {_local(begin)} to {_local(end)}: {_span(recording)}"


def _span(recording: Recording) -> str:
    return f"it goes from {_local(recording.first_seconds)} to {_local(recording.last_seconds)}"


def moment(text: str, recording: Recording) -> float:
    """Unix time of a moment of a recording, in words.

    Raises:
        UsageError: where it is none.
    """
    ago = _AGO.fullmatch(text)
    if ago:
        return recording.last_seconds - float(ago[1]) * _UNITS[ago[2]]
    clock = _CLOCK.fullmatch(text)
    if clock and int(clock[1]) < 24 and int(clock[2]) < 60:
        return _on_its_day(int(clock[1]), int(clock[2]), float(clock[3] or 0), recording)
    try:
        found = datetime.fromisoformat(text)
        seconds = found.timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{text!r} is no time: {_TIME_HELP}") from error
    if found.tzinfo is None:
        # Whoever hands a recording over lives by another clock, perhaps.
        raise UsageError(f"{text!r} has no zone: add Z for UTC, or an offset such as +01:00")
    return seconds


def _on_its_day(hour: int, minute: int, second: float, recording: Recording) -> float:
    """By the local clock, on the last day of the recording on which it was that time."""
    end = time.localtime(recording.last_seconds)
    day = (end.tm_year, end.tm_mon, end.tm_mday, hour, minute, int(second), 0, 0, -1)
    found = time.mktime(day) + second % 1
    return found - _DAY_SECONDS if found > recording.last_seconds else found


def _local(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(seconds))
