"""The grammar of the commands that compare recordings, and hand evidence over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .console import values

_SPAN = "FILE or FILE@TIME..TIME"
_COMPARE = """\
Each side is a recording (one of its files, its name, or a capsule), or a span of one: FILE@TIME..TIME, where
either time may be left out, or FILE@TIME for the ten minutes before. Times are 22:10:05,
2026-11-30T22:10:05+01:00, or -5m before its end. Exit codes: 0 no regression, 1 a regression, 2 it could not
be told, 64 wrong usage."""


def add_compare(
    add: Callable[..., Any], add_settings: Callable[..., None], formats: tuple[str, ...]
) -> None:
    """``gputop compare``."""
    compare = add(
        "compare",
        help="what is different between two recordings, or two spans of one",
        description="Judge two recordings, A as it was before and B as it is now, and print what is "
        "different: step time, where the time went, findings, clocks and links. What only one side tells is "
        "unknown, and no regression.",
        epilog=_COMPARE,
        allow_abbrev=False,
    )
    compare.add_argument("a", metavar="A", help=f"what was before: {_SPAN}")
    compare.add_argument("b", metavar="B", help="what is now, in the same words")
    compare.add_argument(
        "--tolerance",
        type=values.tolerance,
        default=0.05,
        metavar="RATIO",
        help="a change that is not larger is none, such as 0.1 or 10%% (5%%)",
    )
    compare.add_argument("--format", choices=formats, default="text", help="how to print it (text)")
    add_settings(compare, None)
