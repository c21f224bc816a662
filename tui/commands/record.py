"""``gputop record``: keep what is seen, to look at it later as if it were now."""

from __future__ import annotations

import time
from argparse import Namespace
from pathlib import Path

from ...probes.feeds.protocol import Feed, FeedError
from ...probes.feeds.tapped import TappedFeed
from ...probes.recording.lock import NodeLock
from ...probes.recording.segment import RecordingError
from ...probes.recording.writer import Recorder
from ...rules.engine import Engine
from ..console.ended_by_signals import EndedBySignals
from ..console.exits import COULD_NOT_LOOK, OK, complain
from ..console.output import say
from ..drawing import format
from ..session.found_marks import FoundMarks
from ..session.watch import Watch

_SAY_SECONDS = 60.0


def record(feed: Feed, engine: Engine, options: Namespace) -> int:
    """Until it is interrupted, or the time is over; returns the exit code."""
    name = Path(options.recording)
    try:
        lock = None if feed.simulated else NodeLock(name)
        recorder = Recorder(name, options.max_size, options.keep)
    except RecordingError as error:
        feed.close()
        return complain(str(error), COULD_NOT_LOOK)
    watch = Watch(TappedFeed(feed, recorder.add), engine, options.pid)
    say(f"gputop records to {options.recording}-*.gtop; Ctrl+C ends it")
    try:
        with EndedBySignals():
            _watch(watch, recorder, options.seconds)
    except KeyboardInterrupt:
        pass  # this is how it ends
    except FeedError as error:
        complain(str(error))
    finally:
        watch.close()
        whole = recorder.close()
        if lock is not None:
            lock.close()
    return _tell(recorder, whole=whole)


def _watch(watch: Watch, recorder: Recorder, seconds: float | None) -> None:
    marks, error = FoundMarks(), ""
    ends = None if seconds is None else time.monotonic() + seconds
    due = time.monotonic() + _SAY_SECONDS
    for judgement in watch.judgements():
        for mark in marks.of(judgement):
            recorder.add(mark)
        if recorder.error and recorder.error != error:
            complain(recorder.error)
        error = recorder.error
        now = time.monotonic()
        if now >= due:
            due = now + _SAY_SECONDS
            say(f"{format.quantity(float(recorder.bytes), 'bytes')} recorded")
        if ends is not None and now >= ends:
            return


def _tell(recorder: Recorder, *, whole: bool) -> int:
    size = format.quantity(float(recorder.bytes), "bytes")
    say(f"{size} recorded")
    if recorder.dropped or not whole:
        lost = f"{recorder.dropped} samples and marks" if recorder.dropped else "the last seconds"
        why = recorder.error or "the disk was too slow"
        return complain(f"{lost} are not in it: {why}", COULD_NOT_LOOK)
    return OK
