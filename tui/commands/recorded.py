"""Looking at a recording in the place of a node: what ``--from`` and ``--at`` mean."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from ...probes.feeds.protocol import Feed, FeedError
from ...probes.feeds.replay import ReplayFeed
from ...probes.recording.errors import RecordingError
from ...probes.recording.recording import Recording
from ..console.errors import UsageError
from ..console.exits import complain
from ..console.moments import Moment, local, span_words

SLACK_SECONDS = 10.0
"""So far outside of a recording a time may lie: a sample is never quite on time."""


def open_recording(where: str) -> Recording:
    """The recording of that name.

    Raises:
        FeedError: when there is none that can be read.
    """
    try:
        return Recording(Path(where))
    except RecordingError as error:
        raise FeedError(str(error)) from error
    except ValueError as error:
        raise FeedError(f"{where!r} cannot be the name of a recording: {error}") from error


def time_in(recording: Recording, moment: Moment | None) -> float:
    """Unix time of what was asked for; the end, where nothing was.

    Raises:
        FeedError: when it lies outside of the recording.
    """
    begin, end = recording.begins_seconds, recording.ends_seconds
    if moment is None:
        return end
    try:
        seconds = moment(begin, end)
    except UsageError as error:
        raise FeedError(str(error)) from error
    if not begin - SLACK_SECONDS <= seconds <= end + SLACK_SECONDS:
        raise FeedError(f"that time is not in the recording, which is {span_words(begin, end)}")
    return seconds


def recorded_feed(options: Namespace, before_seconds: float = 0.0) -> ReplayFeed:
    """All samples until the time that was asked for, at once.

    Args:
        options: with ``recording`` and ``at``.
        before_seconds: so long before that time it begins.

    Raises:
        FeedError: when nothing can be read.
    """
    recording = open_recording(options.recording)
    try:
        at = time_in(recording, options.at)
        begin = max(recording.begins_seconds, at - before_seconds)
        span = span_words(begin, at) if before_seconds else local(at)
        complain(f"recording {recording.title} of {recording.node}, {span}")
        return ReplayFeed(recording, start_seconds=at - before_seconds, end_seconds=at, paced=False)
    except BaseException:
        recording.close()
        raise


def not_recorded(pid: int) -> str:
    """One sentence on a process that a recording does not have."""
    return f"process {pid} is not in this part of the recording"


def tell_damage(feed: Feed) -> None:
    """Say what of a recording could not be read, where something could not."""
    if isinstance(feed, ReplayFeed) and (damage := feed.recording.damage()):
        complain(damage)
