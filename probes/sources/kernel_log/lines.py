"""From bytes of a log to the lines that may matter: found by their words, for parsing each costs too much.

Three forms are understood: records of ``/dev/kmsg``, text as ``dmesg`` and syslog(2) give it, and
``journalctl -o short-unix``. Anything else is passed over. No function here raises.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MOST_BYTES = 4 << 20
"""Of the newest part of a log."""
_MOST_OF_A_WORD = 400
"""Newest lines with the same word: a storm of one kind hides no other."""
_MOST_OF_A_LINE = 2048

WORDS = (
    b"NVRM: Xid",
    b"SXid (",
    b"fallen off the bus",
    b"RmInitAdapter failed",
    b"PCIe Bus Error:",
    b"AER: Uncorrect",
    b"AER: Multiple Uncorrect",
    b"containment event",
    b"device recovery failed",
    b"mlx5_",
    b"oom-kill:",
    b"illed process ",
    b"blocked for more than",
    b"lockup",
    b"LOCKUP",
    b"t responding",
    b"not responded in",
    b"nfs: server ",
    b"EXT4-fs ",
    b"XFS (",
    b"BTRFS ",
    b"I/O error",
    b"medium error",
    b"nvme nvme",
    b"failed command",
    b"temperature above threshold",
    b"imekeeping suspended for",
)
"""A line without any of these is never parsed."""

_KMSG = rb"(\d{1,10}),\d{1,20},(\d{1,18}),[^;\n]{0,64};(.*)"
_UNIX = rb"(\d{9,11})\.(\d{6}) \S{1,255} kernel(?:\[\d+\])?: (.*)"
_PLAIN = (
    rb"(?:<(\d{1,10})>)?(?:\[ {0,12}(\d{1,10})\.(\d{1,9})\] ?)?(?:\[ {0,8}[TC]\d{1,10}\] ?)?(.*)"
)
_USER_FACILITIES = 8
"""Priorities from here on are of programs, which may write what they like; the kernel's are below."""
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


class LogLine(NamedTuple):
    """One line."""

    seconds: float | None
    """Of the log's clock; ``None``: it has none."""
    unix: bool
    """That clock is the wall's; else it began when the node was started."""
    text: str


def matter(data: bytes) -> list[LogLine]:
    """Those lines of a log that may matter, in its order."""
    starts: set[int] = set()
    for word in WORDS:
        at, left = len(data), _MOST_OF_A_WORD
        while left and (at := data.rfind(word, 0, at)) >= 0:
            start = data.rfind(b"\n", 0, at) + 1
            starts.add(start)
            at, left = start, left - 1
    found: list[LogLine] = []
    for start in sorted(starts):
        end = data.find(b"\n", start, start + _MOST_OF_A_LINE)
        line = parse(data[start : start + _MOST_OF_A_LINE if end < 0 else end])
        if line is not None:
            found.append(line)
    return found


def parse(line: bytes) -> LogLine | None:
    """A line in any of the three forms; ``None`` where the kernel has not written it."""
    if line.startswith(b" "):
        return None  # what belongs to the record before
    record = re.match(_KMSG, line)
    if record:
        return _kernels(record[1], float(int(record[2])) / 1e6, record[3])
    dated = re.match(_UNIX, line)
    if dated:
        return LogLine(float(dated[1] + b"." + dated[2]), True, _text(dated[3]))
    plain = re.match(_PLAIN, line)
    if plain is None or not plain[4]:
        return None
    seconds = float(plain[2] + b"." + plain[3]) if plain[2] else None
    return _kernels(plain[1] or b"0", seconds, plain[4])


def _kernels(priority: bytes, seconds: float | None, text: bytes) -> LogLine | None:
    if int(priority) >= _USER_FACILITIES:
        return None
    return LogLine(seconds, False, _text(text))


def _text(text: bytes) -> str:
    return _UNPRINTABLE.sub(" ", text.decode("utf-8", "replace")).strip()
