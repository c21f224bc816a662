"""Parts of the grammar that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .console import values

TIME = "22:10:05, 2026-11-30T22:10:05+01:00, or -5m before its end"
"""How a moment of a recording is named."""


def add_pid(add_argument: Callable[..., Any], what: str = "of a job to look at too") -> None:
    """One process, or none."""
    add_argument("pid", type=values.pid, nargs="?", action="append", metavar="PID", help=what)


def add_scenario(
    add_argument: Callable[..., Any], what: str = "of a simulated node (gputop demo --list)"
) -> None:
    """``--demo``: a simulated node in the place of this one."""
    add_argument("--demo", dest="scenario", metavar="SCENARIO", help=what)


def add_source(parser: Any, default: Callable[[object], object]) -> None:
    """Options of the commands that look at a recording as well as at this node."""
    parser.add_argument(
        "--from",
        dest="source",
        default=default(None),
        metavar="FILE",
        help="look at a recording instead",
    )
    parser.add_argument(
        "--at",
        default=default(None),
        metavar="TIME",
        help=f"with --from: at that time of it ({TIME})",
    )


def add_span(parser: Any) -> None:
    """``--from`` and ``--to``: a part of a recording."""
    parser.add_argument("--from", dest="begin", metavar="TIME", help=f"{TIME} (its beginning)")
    parser.add_argument("--to", dest="end", metavar="TIME", help="the same (its end)")
