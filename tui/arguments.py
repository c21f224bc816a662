"""The command line's grammar: global options first, then a command, ``gputop PID`` for short."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NoReturn

from .. import __version__
from ..probes.limits import MAX_INTERVAL_SECONDS, MIN_INTERVAL_SECONDS

FORMATS = ("text", "json")
SOURCES = ("nvml", "processes", "cgroups", "host")


COMMANDS = ("attach", "demo", "rules", "collect")


class UsageError(Exception):
    """The command line is wrong. The text is one sentence for people."""


class _Parser(argparse.ArgumentParser):
    """As argparse, but errors are raised, in one sentence that knows the nearest right word."""

    words: ClassVar[set[str]] = set(COMMANDS)

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        """As argparse does, and remember the option's names."""
        self.words.update(name for name in names if name.startswith("-"))
        return super().add_argument(*names, **options)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{_suggest(message, self.words)} (gputop --help shows all)")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The options of a command line.

    Raises:
        UsageError: when it is wrong.
        SystemExit: after ``--help`` and ``--version``, with code 0.
    """
    return _parser().parse_args(_with_attach(argv))


def _with_attach(argv: Sequence[str]) -> list[str]:
    """Where the first word that is no option is all digits, ``attach`` is meant."""
    words = list(argv)
    skip = False
    for position, word in enumerate(words):
        if skip:
            skip = False
        elif word in ("--interval", "--format", "--rules", "-i"):
            skip = True
        elif not word.startswith("-"):
            if word.isdecimal():
                words.insert(position, "attach")
            break
    return words


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="gputop",
        description="Live monitor for GPU training jobs: what every GPU's second is spent on, "
        "what is wrong, and what to do next.",
        epilog="gputop PID is short for gputop attach PID. Without a terminal, one frame is "
        "printed as text.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gputop {__version__}")
    _add_viewing(parser, suppress=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    parser.set_defaults(without=[], pid=[])

    attach = commands.add_parser(
        "attach", help="watch the job that a process belongs to", allow_abbrev=False
    )
    attach.add_argument("pid", type=_pid, nargs=1, metavar="PID")
    _add_viewing(attach, suppress=True)

    demo = commands.add_parser(
        "demo", help="a simulated node with 8 GPUs: no driver needed", allow_abbrev=False
    )
    demo.add_argument("scenario", nargs="?", default="input-bound", metavar="SCENARIO")
    demo.add_argument("--list", action="store_true", help="print the scenarios and exit")
    _add_viewing(demo, suppress=True)

    rules = commands.add_parser(
        "rules", help="the catalogue of rules, or one rule's runbook", allow_abbrev=False
    )
    rules.add_argument("rule", nargs="?", metavar="ID")

    collect = commands.add_parser(
        "collect",
        help="write samples to standard output, for a front end elsewhere",
        allow_abbrev=False,
    )
    collect.add_argument("--interval", type=_interval, default=1.0, metavar="SECONDS")
    collect.add_argument("--without", action="append", choices=SOURCES, default=[])
    collect.add_argument("--pid", action="append", type=_pid, default=[], metavar="PID")
    return parser


def _add_viewing(parser: argparse.ArgumentParser, *, suppress: bool) -> None:
    """Options that may stand before and behind the command; there they must not reset them."""

    def default(value: object) -> object:
        return argparse.SUPPRESS if suppress else value

    parser.add_argument(
        "-i",
        "--interval",
        type=_interval,
        default=default(1.0),
        metavar="SECONDS",
        help=f"between samples, {MIN_INTERVAL_SECONDS:g} to {MAX_INTERVAL_SECONDS:g} (1)",
    )
    parser.add_argument(
        "--once", action="store_true", default=default(False), help="print one frame and exit"
    )
    parser.add_argument("--format", choices=FORMATS, default=default(None), help="of --once (text)")
    parser.add_argument(
        "--ascii",
        action="store_true",
        default=default(False),
        help="draw with ASCII characters only",
    )
    parser.add_argument(
        "--rules",
        dest="settings",
        default=default(None),
        metavar="FILE",
        help="TOML file with other thresholds for the rules",
    )


def _interval(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = float("nan")
    if not MIN_INTERVAL_SECONDS <= seconds <= MAX_INTERVAL_SECONDS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of seconds from {MIN_INTERVAL_SECONDS:g} "
            f"to {MAX_INTERVAL_SECONDS:g}"
        )
    return seconds


def _pid(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 31:
        raise argparse.ArgumentTypeError(f"{text!r} is not a process id")
    return int(text)


def _suggest(message: str, words: Iterable[str]) -> str:
    """The message with the nearest right word for the wrong one in it."""
    found = re.search(r"unrecognized arguments: (\S+)|invalid choice: '([^']*)'", message)
    if not found:
        return message
    wrong = found.group(1) or found.group(2)
    near = difflib.get_close_matches(wrong.partition("=")[0], list(words), n=1)
    plain = f"{wrong!r} is not known here"
    return f"{plain}; did you mean {near[0]!r}?" if near else plain
