"""``gputop cut``: a span of a recording as a file of its own."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from ...probes.feeds.protocol import FeedError
from ...probes.recording.cut import cut
from ...probes.recording.errors import RecordingError
from ..console.errors import UsageError
from ..console.exits import COULD_NOT_LOOK, OK, complain
from ..console.output import say
from ..drawing.format import decimal
from .recorded import open_recording, time_in


def cut_recording(options: Namespace) -> int:
    """Write the file; returns the exit code.

    Raises:
        UsageError: when it would end before it begins.
    """
    try:
        with open_recording(options.source) as recording:
            begin = time_in(recording, options.begin) if options.begin else recording.begins_seconds
            end = time_in(recording, options.end)
            if begin > end:
                raise UsageError("--from is later than --to")
            path = Path(options.output)
            count = cut(recording, begin, end, path, force=options.force)
            damage = recording.damage()
    except (FeedError, RecordingError) as error:
        return complain(str(error), COULD_NOT_LOOK)
    say(f"{count} samples are in {path} ({decimal(path.stat().st_size)})")
    return complain(damage, OK) if damage else OK
