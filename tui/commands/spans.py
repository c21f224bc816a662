"""The words of ``compare``: ``FILE``, ``FILE@TIME..TIME``, ``FILE@TIME``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ...probes.feeds.protocol import FeedError
from ...probes.recording.recording import Recording, segments_of
from ..console.errors import UsageError
from .recorded import DIAGNOSED_SECONDS, moment, nothing_between, opened

_MARK, _TO = "@", ".."


class Span(NamedTuple):
    """A recording, and what of it is meant."""

    recording: Recording
    begin_seconds: float
    """Unix time, as the next one."""
    end_seconds: float


def span(word: str) -> Span:
    """What a word of the command line names.

    A file whose whole name has an ``@`` in it is meant by that name. One time alone means the ten minutes
    before it, as it does for ``diagnose``.

    Raises:
        FeedError: where there is no such recording, or nothing in it of that time.
        UsageError: where a time is none, or the first is after the second.
    """
    name, mark, times = word.rpartition(_MARK)
    if not mark or Path(word).exists() or segments_of(Path(word)):
        name, times = word, _TO
    recording = opened(name)
    first, to, last = times.partition(_TO)
    begin = moment(first, recording) if first else recording.first_seconds
    end = moment(last, recording) if last else recording.last_seconds
    if not to:
        begin, end = begin - DIAGNOSED_SECONDS, begin
    if begin > end:
        raise UsageError(f"{word}: its first time is after its second")
    if end < recording.first_seconds or begin > recording.last_seconds:
        raise FeedError(nothing_between(name, begin, end, recording))
    return Span(recording, begin, end)
