"""The command line's grammar: global options first, then a command, ``gputop PID`` for short."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from .. import __version__
from ..probes.collector.registry import names
from ..probes.wire.limits import MAX_INTERVAL_SECONDS, MIN_INTERVAL_SECONDS
from ..rules.suggestion import suggestion
from .console import values
from .console.errors import UsageError
from .console.output import say
from .job_arguments import add_inject, add_probe, add_run, split_job
from .output_arguments import add_recordings, add_serve, add_source, add_stream

FORMATS = ("text", "json")
_REPORT_FORMATS = ("text", "markdown", "json")

_HELP = "gputop --help shows all"
_INTERVAL_HELP = f"between samples, {MIN_INTERVAL_SECONDS:g} to {MAX_INTERVAL_SECONDS:g} (1)"
_DIAGNOSE_SECONDS = 30.0
_BEFORE_END = re.compile(r"-\d[\d.]*[smh]?")
_WITH_A_VALUE = ("--interval", "--format", "--rules", "--timeout", "-i", "--demo", "--from", "--at")
_SCENARIO = "input-bound"
"""What ``gputop demo`` plays unless another one is named."""


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
    words, job = split_job(_with_times(argv))
    options, unknown = parser.parse_known_args(_with_attach(_with_demo(words)))
    if unknown:
        known = commands.get(options.command, parser).option_names
        raise UsageError(f"{_not_known(unknown[0], options.command, known)} ({_HELP})")
    options.pid = [pid for pid in options.pid if pid is not None]
    options.job = job
    options.notices = []
    if options.command == "diagnose":
        options.seconds_given = options.seconds is not None
        options.seconds = options.seconds if options.seconds_given else _DIAGNOSE_SECONDS
    if options.at and not options.source:
        raise UsageError(f"--at goes with --from FILE ({_HELP})")
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


def _with_times(argv: Sequence[str]) -> list[str]:
    """``--at -5m``: a time before the end, which looks like an option."""
    words: list[str] = []
    for word in argv:
        if words and words[-1] in ("--at", "--from", "--to") and _BEFORE_END.fullmatch(word):
            words[-1] += f"={word}"
        else:
            words.append(word)
    return words


def _with_attach(argv: Sequence[str]) -> list[str]:
    """Where the first word that is no option is a number, ``attach`` is meant."""
    words = list(argv)
    skip = False
    for position, word in enumerate(words):
        if skip:
            skip = False
        elif word in _WITH_A_VALUE:
            skip = True
        elif word.removeprefix("-").isdecimal():
            words.insert(position, "attach")
            break
        elif not word.startswith("-"):
            break
    return words


def _with_demo(argv: Sequence[str]) -> list[str]:
    """``diagnose demo SCENARIO`` is ``diagnose --demo SCENARIO``."""
    words = list(argv)
    if "diagnose" in words:
        at = words.index("diagnose") + 1
        place = words.index("demo", at) if "demo" in words[at:] else -1
        if place > 0 and words[place - 1] not in _WITH_A_VALUE:
            words[place] = "--demo"
            if place + 1 == len(words) or words[place + 1].startswith("-"):
                words.insert(place + 1, _SCENARIO)
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
    add_source(parser, lambda value: value)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    parser.set_defaults(
        without=[],
        pid=[],
        inject=False,
        note="",
        name=None,
        jobs=(),
        scenario=None,
        source=None,
        at=None,
    )

    attach = commands.add_parser(
        "attach",
        help="watch the job that a process belongs to; without one, choose among the jobs here",
        description="Watch the job that a process belongs to: the process itself, what started it and "
        "what it started. Without one, the only job of this machine, or a choice among them.",
        allow_abbrev=False,
    )
    _add_job(attach)
    add_inject(attach)
    _add_viewing(attach, suppress=True)
    _add_reports(commands.add_parser)

    add_run(commands)
    add_probe(commands, values.pid, FORMATS)

    demo = commands.add_parser(
        "demo",
        help="a simulated node with 8 GPUs: no driver needed",
        description="Watch a simulated node with 8 GPUs on which something goes wrong, to learn what "
        "that looks like. It needs no GPU and no driver, and nothing in it is real.",
        allow_abbrev=False,
    )
    demo.add_argument(
        "scenario",
        nargs="?",
        default=_SCENARIO,
        metavar="SCENARIO",
        help=f"what goes wrong; --list tells all ({_SCENARIO})",
    )
    demo.add_argument("--list", action="store_true", help="print the scenarios and exit")
    _add_viewing(demo, suppress=True)

    rules = commands.add_parser(
        "rules",
        help="the catalogue of rules, or one rule's runbook",
        description="List the rules by which findings are made, or show one: what it means, how to make "
        "sure, what to do, its thresholds and where they are from.",
        allow_abbrev=False,
    )
    rules.add_argument("rule", nargs="?", metavar="ID", help="of one rule, such as HW201 (all)")
    _add_settings(rules, argparse.SUPPRESS)

    add_serve(commands.add_parser, _add_viewing)
    add_recordings(commands.add_parser, _add_viewing)
    add_stream(commands.add_parser, _add_viewing)

    collect = commands.add_parser(
        "collect",
        help="write samples to standard output, for a front end elsewhere",
        description="Look, judge nothing, and write samples to standard output in binary, until standard "
        "input ends. For a front end elsewhere; not for a terminal.",
        allow_abbrev=False,
    )
    collect.add_argument(
        "--interval", type=values.interval, default=1.0, metavar="SECONDS", help=_INTERVAL_HELP
    )
    collect.add_argument(
        "--without",
        action="append",
        choices=names(),
        default=[],
        help="leave this source alone; may be given again",
    )
    collect.add_argument(
        "--pid",
        action="append",
        type=values.pid,
        default=[],
        metavar="PID",
        help="watch this process and its tree too; may be given again",
    )
    return parser, commands.choices


def _add_reports(add: Callable[..., _Parser]) -> None:
    """The commands that look at a job without a screen."""
    diagnose = add(
        "diagnose",
        help="watch for a while, then print what is wrong",
        description="Watch for a while without a screen, then print what is wrong, the numbers that "
        "prove it, and what each rank does.",
        epilog="Exit codes: 0 nothing certain was found, 1 something is wrong, 2 it could not look or the "
        "process has exited and nothing was found, 64 wrong usage.",
        allow_abbrev=False,
    )
    which = diagnose.add_mutually_exclusive_group()
    _add_pid(which.add_argument, "of the job to look at (the whole machine)")
    which.add_argument(
        "--demo",
        dest="scenario",
        metavar="SCENARIO",
        default=None,
        help="of a simulated node, of which two minutes are seen at once; or: diagnose demo SCENARIO",
    )
    diagnose.add_argument(
        "--for",
        dest="seconds",
        type=values.seconds,
        default=None,
        metavar="SECONDS",
        help=f"how long to watch, 1 to {values.LONGEST_SECONDS:g} (30; of a recording its last 600)",
    )
    _add_viewing(diagnose, suppress=True, formats=_REPORT_FORMATS)
    add_source(diagnose, lambda _: argparse.SUPPRESS)

    stacks = add(
        "stacks",
        help="where every rank of a job is, by its Python stack",
        description="Take the Python stacks of every rank of a job, which is not paused for it, and print "
        "where each is, with ranks at the same place as one. Without a process, the only job of "
        "this machine, or a list of them.",
        allow_abbrev=False,
    )
    _add_job(stacks)
    _add_viewing(stacks, suppress=True)

    doctor = add(
        "doctor",
        help="what can be read here, what cannot, and what would help",
        description="Try every way of looking at this machine, or at one process, and print of each "
        "whether it is open, what it gives and costs, and what would open it.",
        epilog="Exit codes: 0 there is something to look at, 2 no GPU can be looked at or the process "
        "cannot, 64 wrong usage.",
        allow_abbrev=False,
    )
    _add_pid(doctor.add_argument, "of the process to examine (this machine alone)")
    doctor.add_argument("--format", choices=FORMATS, default="text", help="how to print it (text)")


def _add_pid(add_argument: Callable[..., argparse.Action], what: str) -> None:
    add_argument("pid", type=values.pid, nargs="?", action="append", metavar="PID", help=what)


def _add_job(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    _add_pid(which.add_argument, "of a process of the job")
    which.add_argument(
        "--name",
        type=values.regular_expression,
        metavar="REGEX",
        help="of the job with a process whose command fits",
    )


def _add_viewing(
    parser: argparse.ArgumentParser, *, suppress: bool, formats: Sequence[str] = FORMATS
) -> None:
    """Options that may stand before and behind the command; there they must not reset them."""

    def default(value: object) -> object:
        return argparse.SUPPRESS if suppress else value

    parser.add_argument(
        "-i",
        "--interval",
        type=values.interval,
        default=default(1.0),
        metavar="SECONDS",
        help=_INTERVAL_HELP,
    )
    parser.add_argument(
        "--once", action="store_true", default=default(False), help="print one frame and exit"
    )
    parser.add_argument(
        "--timeout",
        type=values.seconds,
        default=default(None),
        metavar="SECONDS",
        help="without a screen: end after so long, whatever hangs or gets no CPU (10 in which it was "
        "run, 60 at most)",
    )
    parser.add_argument("--format", choices=formats, default=default(None), help="of --once (text)")
    parser.add_argument(
        "--record-on-finding",
        default=default(None),
        metavar="DIR",
        help="write the last ten minutes into this folder when an error is found (key w: now)",
    )
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
