"""The grammar of the commands that make recordings."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from .console import moments, values

KEEP_SECONDS = 7 * 86400.0
MAX_BYTES = 4_000_000_000


def add_record(
    add: Callable[..., Any], interval_help: str, add_settings: Callable[..., None]
) -> None:
    """``gputop record``."""
    record = add(
        "record",
        help="record this node, for later and for others",
        description="Record this node without a screen, with what is judged of it, into files NAME-TIME-NUMBER.gtop "
        "of an hour each: at full rate for an hour, then of ten seconds one sample and everything around a finding. "
        "INT, TERM and HUP end it with the last block written; after a crash all but the last 10 s is there.",
        epilog="Exit codes: 0 recorded, 2 it could not be (at the end), 64 wrong usage, 128 + N ended by signal N.",
        allow_abbrev=False,
    )
    record.add_argument(
        "recording_name",
        metavar="NAME",
        help="that its files begin with, with the folder before it",
    )
    record.add_argument(
        "--for",
        dest="seconds",
        type=values.span,
        default=None,
        metavar="TIME",
        help="how long, such as 90s, 10m, 2h or 7d (until it is ended)",
    )
    record.add_argument(
        "--max-size",
        type=values.size,
        default=MAX_BYTES,
        metavar="SIZE",
        help="of all its files, such as 500M or 4GiB: the oldest go (4G)",
    )
    record.add_argument(
        "--keep",
        type=values.span,
        default=KEEP_SECONDS,
        metavar="TIME",
        help="files older than that go (7d)",
    )
    record.add_argument(
        "-i",
        "--interval",
        type=values.interval,
        default=1.0,
        metavar="SECONDS",
        help=interval_help,
    )
    record.add_argument(
        "--pid",
        action="append",
        type=values.pid,
        default=[],
        metavar="PID",
        help="record this process and its tree too; may be given again",
    )
    add_settings(record, argparse.SUPPRESS)


def add_cut(add: Callable[..., Any]) -> None:
    """``gputop cut``."""
    cut = add(
        "cut",
        help="a span of a recording as one file, to hand over",
        description="Write a span of a recording to one new file.",
        allow_abbrev=False,
    )
    cut.add_argument("source", metavar="FILE", help="a segment, or the name of a recording")
    for option, dest, which in (("--from", "begin", "beginning"), ("--to", "end", "end")):
        cut.add_argument(
            option,
            dest=dest,
            type=moments.moment,
            default=None,
            metavar="TIME",
            help=f"{moments.HELP} (its {which})",
        )
    cut.add_argument("-o", dest="output", required=True, metavar="OUT", help="the file to write")
    cut.add_argument("--force", action="store_true", help="write over a file that is there")
