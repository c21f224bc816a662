"""``gputop record``: the flight recorder, without a screen."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from ...probes.feeds.collector_feed import CollectorFeed
from ...probes.feeds.wedged import wedged_collectors
from ...probes.recording.errors import RecordingError
from ...probes.recording.lock import NodeLock
from ...probes.recording.retention import Limits
from ...probes.recording.writer import Writer
from ...rules.catalogue import make_rules
from ...rules.engine import Engine
from ...rules.finding import Judgement
from ..console.exits import BY_SIGNAL, COULD_NOT_LOOK, OK, complain
from ..console.output import say
from ..console.thresholds import thresholds
from ..drawing.format import decimal, duration
from ..drawing.missing import why_no_gpus
from ..session.flight_recorder import FlightRecorder
from ..session.watch import Watch

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CLOSE_SECONDS = 5.0
_LOOK_SECONDS = 1.0


class _State:
    """What goes on, as it is told in one line."""

    def __init__(self, writer: Writer, flight: FlightRecorder) -> None:
        self._writer = writer
        self._flight = flight
        self._began = time.monotonic()
        self.newest: Judgement | None = None
        self.ended = ""
        self.over = threading.Event()
        self.signal = 0

    def take(self, judgement: Judgement) -> None:
        """One more has come."""
        if self.newest is None and (why := why_no_gpus(judgement.frame)):
            complain(f"{why}; the rest of this node is recorded")
        self.newest = judgement

    def end(self, reason: str) -> None:
        """Nothing comes any more."""
        self.ended = reason
        self.over.set()

    @property
    def lost(self) -> int:
        """Samples that are not in the recording."""
        return self._writer.lost_samples + self._flight.recorder.dropped_samples

    def line(self) -> str:
        """How it stands."""
        writer = self._writer
        parts = [
            f"{writer.recording.name}: {duration(time.monotonic() - self._began)}",
            f"{writer.samples} samples",
            decimal(writer.size_bytes),
        ]
        if self.newest is not None:
            parts.append(f"{len(self.newest.active)} findings active")
        if self.lost:
            parts.append(f"{self.lost} samples lost")
        wrong = self._flight.recorder.hangs() or writer.error
        return ", ".join(parts) + (f"; {wrong}" if wrong else "")


def record(options: Namespace) -> int:
    """Record until the time is over or a signal comes; returns the exit code."""
    name = Path(options.recording_name.removesuffix(".gtop"))
    if not name.name or name.is_dir():
        return complain(f"{name} is a folder: add a name, such as {name / 'NAME'}", COULD_NOT_LOOK)
    engine = Engine(make_rules(thresholds(options.settings)))
    try:
        writer = Writer(name, Limits(options.max_size, options.keep))
        with NodeLock(f"into {name.absolute()}"):
            return _record(writer, engine, options)
    except RecordingError as error:
        return complain(str(error), COULD_NOT_LOOK)
    except ValueError as error:
        return complain(f"{str(name)!r} cannot be the name of a recording: {error}", COULD_NOT_LOOK)


def _record(writer: Writer, engine: Engine, options: Namespace) -> int:
    wedged = ["nvml"] if wedged_collectors() else []
    feed = CollectorFeed(options.interval, without=wedged, pids=options.pid, restarts=True)
    flight = FlightRecorder(writer=writer, on_notice=_say)
    watch = Watch(feed, engine, options.pid, flight)
    state = _State(writer, flight)
    with _until_signal(state):
        watch.start(state.take, state.end, _say)
        _wait(state, options.seconds)
        watch.close(_CLOSE_SECONDS)
    for line in filter(None, (state.ended, watch.stuck)):
        complain(line)
    say(state.line())
    if state.signal:
        return BY_SIGNAL + state.signal
    return COULD_NOT_LOOK if state.ended or writer.error or not writer.samples else OK


def _wait(state: _State, seconds: float | None) -> None:
    """Wait for the end, and tell how it stands."""
    end = None if seconds is None else time.monotonic() + seconds
    terminal = sys.stderr.isatty()
    while not state.over.wait(_LOOK_SECONDS):
        if terminal:
            _tell(f"\r\x1b[K{state.line()}")
        if end is not None and time.monotonic() >= end:
            break
    if terminal:
        _tell("\r\x1b[K")


def _say(sentence: str) -> None:
    complain(sentence)


def _tell(text: str) -> None:
    with contextlib.suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


@contextlib.contextmanager
def _until_signal(state: _State) -> Iterator[None]:
    """Let signals end the recording, with its last block whole."""

    def end(number: int, _frame: FrameType | None) -> None:
        state.signal = number
        state.over.set()

    before: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | None] = {}
    for each in _ENDING:
        if signal.getsignal(each) is not signal.SIG_IGN:  # as under nohup
            before[each] = signal.signal(each, end)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
