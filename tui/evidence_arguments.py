"""The grammar of the commands that compare recordings, and hand evidence over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .console import values
from .shared_arguments import add_pid, add_scenario, add_span

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


_CAPTURE = """\
The file is a zip: README.txt in it says what is there, and why the rest is not. gputop replay and
gputop diagnose --from read it as it is. Exit codes: 0 it is written, 2 it could not look or write, 64 wrong
usage, 130 interrupted (then there is no file)."""


def add_capture(add: Callable[..., Any], add_viewing: Callable[..., None]) -> None:
    """``gputop capture``."""
    capture = add(
        "capture",
        help="all evidence of a job in one file, before it is restarted",
        description="Look for some seconds, and put into one file what a colleague needs: what was seen, with the "
        "ten minutes before from a recording, the stacks of every rank, NCCL RAS, flight recorders, the ends of "
        "logs, the kernel log, a diagnosis, and what could not be read.",
        epilog=_CAPTURE,
        allow_abbrev=False,
    )
    add_pid(capture.add_argument, "of the job that it is about (all jobs here)")
    capture.add_argument(
        "-o",
        "--output",
        type=values.file,
        required=True,
        metavar="FILE",
        help="the new file, such as hang.zip",
    )
    capture.add_argument("--force", action="store_true", help="replace the file if there is one")
    capture.add_argument(
        "--from",
        dest="before",
        metavar="NAME",
        help="take the ten minutes before from this recording of this node (the one that goes on, if any)",
    )
    capture.add_argument(
        "--for",
        dest="seconds",
        type=values.seconds,
        default=20.0,
        metavar="SECONDS",
        help="how long to look (20)",
    )
    capture.add_argument(
        "--exact-stacks",
        action="store_true",
        help="with C functions too: each rank is stopped for a moment, up to 0.3 s",
    )
    capture.add_argument(
        "--memory-snapshot",
        action="store_true",
        help="with the state of PyTorch's allocator in each rank that has a probe and a GPU",
    )
    capture.add_argument(
        "--redact",
        action="store_true",
        help="replace hosts, users, command lines and paths; leave out logs and lines of the kernel log",
    )
    add_scenario(capture.add_argument)
    add_viewing(capture, suppress=True)


def add_export(add: Callable[..., Any]) -> None:
    """``gputop export``."""
    export = add(
        "export",
        help="a recording as a trace for Perfetto or Chrome",
        description="Write a recording as a trace: the steps and phases of every rank, findings as they were "
        "judged while it was recorded, and what GPUs and links did. ui.perfetto.dev opens it. Its clock is that of "
        "torch.profiler's traces.",
        epilog="Exit codes: 0 it is written, 2 it could not be read or written, 64 wrong usage, 130 interrupted "
        "(then there is no file).",
        allow_abbrev=False,
    )
    export.add_argument(
        "source", metavar="FILE", help="one of its files, the name of a recording, or a capsule"
    )
    export.add_argument(
        "--format",
        choices=("perfetto", "chrome"),
        default="perfetto",
        help="Perfetto's own, or Chrome's JSON as torch.profiler writes it (perfetto)",
    )
    add_span(export)
    export.add_argument(
        "-o", "--output", type=values.file, required=True, metavar="FILE", help="the new file"
    )
    export.add_argument("--force", action="store_true", help="replace the file if there is one")
