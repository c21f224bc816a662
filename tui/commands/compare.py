"""``gputop compare A B``: what is different between two recordings, for people and for CI."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Mapping

from ...probes.feeds.protocol import FeedError
from ...probes.feeds.replay import PAST_SECONDS
from ...probes.recording.segment import RecordingError
from ..console.exits import COULD_NOT_LOOK, FINDINGS, OK, complain
from ..console.output import say, say_json
from ..console.thresholds import thresholds
from ..reports.comparison.comparison import Comparison
from ..reports.comparison.comparison import compare as compared
from ..reports.comparison.comparison_text import as_text
from ..reports.comparison.gatherer import Gatherer
from ..reports.comparison.side import Side
from .recorded import nothing_between
from .spans import Span, span

_QUIET_SECONDS = 3.0
"""What takes longer says how far it is."""
_SAY_SECONDS = 0.5


def compare(options: Namespace) -> int:
    """Print what is different; returns the exit code."""
    rules = thresholds(options.settings)
    try:
        spans = [span(word) for word in (options.a, options.b)]
        sides = [
            _side(word, each, rules)
            for word, each in zip((options.a, options.b), spans, strict=True)
        ]
    except (FeedError, RecordingError) as error:
        return complain(str(error), COULD_NOT_LOOK)
    found = compared(sides[0], sides[1], options.tolerance)
    if options.format == "json":
        say_json(as_json(found))
    else:
        say(as_text(found))
    if found.regressions:
        return FINDINGS
    return COULD_NOT_LOOK if found.not_compared else OK


def as_json(found: Comparison) -> bytes:
    """One object under the public names."""
    from ..reports.json_output import Clock, Output

    return Output(Clock.here()).encode_record(found)


def _side(word: str, each: Span, rules: Mapping[str, Mapping[str, float]]) -> Side:
    """All of one side.

    Raises:
        FeedError: where no sample of it can be read.
        RecordingError: where a later program wrote it.
    """
    gatherer, progress = Gatherer(each.begin_seconds, rules), _Progress(word, each)
    # What lasts needs its time to count: so the minute before is judged too.
    for sample in each.recording.samples(each.begin_seconds - PAST_SECONDS, each.end_seconds):
        gatherer.add(sample)
        progress.at(sample.time_seconds)
    progress.end()
    unreadable = list(each.recording.unreadable)
    if each.recording.bad_blocks:
        unreadable.append(f"{each.recording.bad_blocks} blocks have changed and are left out")
    side = gatherer.side(word, unreadable)
    if side is None:
        raise FeedError(nothing_between(word, each.begin_seconds, each.end_seconds, each.recording))
    return side


class _Progress:
    """On a terminal, and of what takes long."""

    def __init__(self, word: str, each: Span) -> None:
        self._word, self._span = word, each
        self._due = time.monotonic() + _QUIET_SECONDS
        self._said = False

    def at(self, time_seconds: float) -> None:
        """So far it has come."""
        if time.monotonic() < self._due or not sys.stderr.isatty():
            return
        self._due = time.monotonic() + _SAY_SECONDS
        self._said = True
        begin, end = self._span.begin_seconds, self._span.end_seconds
        done = (time_seconds - begin) / max(1.0, end - begin)
        sys.stderr.write(f"\r{max(0.0, done) * 100:3.0f} % judged of {self._word}")
        sys.stderr.flush()

    def end(self) -> None:
        """Leave nothing of it on the screen."""
        if self._said:
            sys.stderr.write("\r\x1b[K")
