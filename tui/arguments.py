"""The command line's grammar: global options first, then a command, ``gputop PID`` for short."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from .. import __version__
from ..probes.limits import MAX_INTERVAL_SECONDS, MIN_INTERVAL_SECONDS
from ..rules.nearest import suggestion
from .job_arguments import add_inject, add_probe, add_run, split_job
from .output import say

FORMATS = ("text", "json")
_PID_DIGITS = 9
_LONGEST_SECONDS = 3600.0
SOURCES = ("nvml", "processes", "inprocess", "cgroups", "host", "infiniband", "topology", "numa")


_HELP = "gputop --help shows all"


class UsageError(Exception):
    """The command line is wrong. The text is one sentence for people."""


class _Parser(argparse.ArgumentParser):
    """As argparse, but errors are raised, in one sentence that knows the nearest right word."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.option_names: list[str] = []
        super().__init__(*arguments, **options)

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        """As argparse does, and remember the option's names."""
        self.option_names += [name for name in names if name.startswith("-")]
        return super().add_argument(*names, **options)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} ({_HELP})")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            what = (action.option_strings or ["command"])[-1]
            raise UsageError(
                f"there is no {what} {value!r}{suggestion(value, choices)} "
                f"({_listed(choices)}; {_HELP})"
            )

    def _print_message(self, message: str, file: object = None) -> None:
        say(message.removesuffix("\n"))


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The options of a command line.

    Raises:
        UsageError: when it is wrong.
        SystemExit: after ``--help`` and ``--version``, with code 0.
    """
    parser, commands = _parser()
    words, job = split_job(argv)
    options, unknown = parser.parse_known_args(_with_attach(words))
    if unknown:
        known = commands.get(options.command, parser).option_names
        raise UsageError(f"{_not_known(unknown[0], options.command, known)} ({_HELP})")
    options.pid = [pid for pid in options.pid if pid is not None]
    options.job = job
    options.notices = []
    if options.inject and not options.pid:
        raise UsageError(f"--inject goes with a PID: it changes that process ({_HELP})")
    return options


def _not_known(word: str, command: str | None, options: Sequence[str]) -> str:
    place = f"gputop {command}" if command else "gputop"
    if word.startswith("-"):
        name = word.partition("=")[0]
        return f"{place} has no option {name!r}{suggestion(name, options)}"
    return f"{place} has no place for {word!r}"


def _listed(choices: Sequence[str]) -> str:
    return f"{', '.join(choices[:-1])} or {choices[-1]}"


def _with_attach(argv: Sequence[str]) -> list[str]:
    """Where the first word that is no option is a number, ``attach`` is meant."""
    words = list(argv)
    skip = False
    for position, word in enumerate(words):
        if skip:
            skip = False
        elif word in ("--interval", "--format", "--rules", "-i"):
            skip = True
        elif word.removeprefix("-").isdecimal():
            words.insert(position, "attach")
            break
        elif not word.startswith("-"):
            break
    return words


def _parser() -> tuple[_Parser, Mapping[str, _Parser]]:
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
    parser.set_defaults(without=[], pid=[], inject=False, note="", name=None, jobs=())

    attach = commands.add_parser(
        "attach",
        help="watch the job that a process belongs to; without one, choose among the jobs here",
        allow_abbrev=False,
    )
    _add_job(attach)
    add_inject(attach)
    _add_viewing(attach, suppress=True)
    _add_reports(commands.add_parser)

    add_run(commands)
    add_probe(commands, _pid, FORMATS)

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
    _add_settings(rules, argparse.SUPPRESS)

    collect = commands.add_parser(
        "collect",
        help="write samples to standard output, for a front end elsewhere",
        allow_abbrev=False,
    )
    collect.add_argument("--interval", type=_interval, default=1.0, metavar="SECONDS")
    collect.add_argument("--without", action="append", choices=SOURCES, default=[])
    collect.add_argument("--pid", action="append", type=_pid, default=[], metavar="PID")
    return parser, commands.choices


def _add_reports(add: Callable[..., _Parser]) -> None:
    """The commands that look at a job without a screen."""
    diagnose = add(
        "diagnose", help="watch for a while, then print what is wrong", allow_abbrev=False
    )
    diagnose.add_argument("pid", type=_pid, nargs="?", action="append", metavar="PID")
    diagnose.add_argument(
        "--for", dest="seconds", type=_seconds, default=30.0, metavar="SECONDS", help="(30s)"
    )
    _add_viewing(diagnose, suppress=True)

    stacks = add(
        "stacks", help="where every rank of a job is, by its Python stack", allow_abbrev=False
    )
    _add_job(stacks)
    _add_viewing(stacks, suppress=True)

    doctor = add(
        "doctor", help="what can be read here, what cannot, and what would help", allow_abbrev=False
    )
    doctor.add_argument("pid", type=_pid, nargs="?", action="append", metavar="PID")
    doctor.add_argument("--format", choices=FORMATS, default="text")


def _add_job(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("pid", type=_pid, nargs="?", action="append", metavar="PID")
    which.add_argument(
        "--name",
        type=_regular_expression,
        metavar="REGEX",
        help="the oldest training process whose command fits",
    )


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
    _add_settings(parser, default(None))


def _add_settings(parser: argparse.ArgumentParser, default: object) -> None:
    parser.add_argument(
        "--rules",
        dest="settings",
        default=default,
        metavar="FILE",
        help="TOML file with other thresholds for the rules",
    )


def _regular_expression(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, OverflowError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from error
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = float("nan")
    if not 1.0 <= seconds <= _LONGEST_SECONDS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of seconds from 1 to {_LONGEST_SECONDS:g}"
        )
    return seconds


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
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a process id, which is a positive number"
        )
    if not text.strip("0"):
        raise argparse.ArgumentTypeError(f"{text} is not a process id: the first is 1")
    if len(text.lstrip("0")) > _PID_DIGITS:
        raise argparse.ArgumentTypeError(f"{text} is not a process id: none is so large")
    return int(text)
