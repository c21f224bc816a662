"""The grammar of the commands that look at this node or at a job of it, and of the options they share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ..probes.wire.limits import MAX_INTERVAL_SECONDS, MIN_INTERVAL_SECONDS
from .console import values
from .job_arguments import add_inject
from .shared_arguments import add_pid, add_source

FORMATS = ("text", "json")
_REPORT_FORMATS = ("text", "markdown", "json")

_INTERVAL_HELP = f"between samples, {MIN_INTERVAL_SECONDS:g} to {MAX_INTERVAL_SECONDS:g} (1)"
SCENARIO = "input-bound"
"""What ``gputop demo`` plays unless another one is named."""


def add_attach(commands: Any) -> None:
    attach = commands.add_parser(
        "attach",
        help="watch the job that a process belongs to; without one, choose among the jobs here",
        description="Watch the job that a process belongs to: the process itself, what started it and "
        "what it started. Without one, the only job of this machine, or a choice among them.",
        allow_abbrev=False,
    )
    _add_job(attach)
    add_inject(attach)
    add_viewing(attach, suppress=True)


def add_demo(commands: Any) -> None:
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
        default=SCENARIO,
        metavar="SCENARIO",
        help=f"what goes wrong; --list tells all ({SCENARIO})",
    )
    demo.add_argument("--list", action="store_true", help="print the scenarios and exit")
    add_viewing(demo, suppress=True)


def add_rules(commands: Any) -> None:
    rules = commands.add_parser(
        "rules",
        help="the catalogue of rules, or one rule's runbook",
        description="List the rules by which findings are made, or show one: what it means, how to make "
        "sure, what to do, its thresholds and where they are from.",
        allow_abbrev=False,
    )
    rules.add_argument("rule", nargs="?", metavar="ID", help="of one rule, such as HW201 (all)")
    add_settings(rules, argparse.SUPPRESS)


def add_collect(commands: Any) -> None:
    from ..probes.collector.registry import names

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


def add_reports(commands: Any) -> None:
    """The commands that look at a job without a screen."""
    add = commands.add_parser
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
    add_pid(which.add_argument, "of the job to look at (the whole machine)")
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
    add_viewing(diagnose, suppress=True, formats=_REPORT_FORMATS)
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
    add_viewing(stacks, suppress=True)

    doctor = add(
        "doctor",
        help="what can be read here, what cannot, and what would help",
        description="Try every way of looking at this machine, or at one process, and print of each "
        "whether it is open, what it gives and costs, and what would open it.",
        epilog="Exit codes: 0 there is something to look at, 2 no GPU can be looked at or the process "
        "cannot, 64 wrong usage.",
        allow_abbrev=False,
    )
    add_pid(doctor.add_argument, "of the process to examine (this machine alone)")
    doctor.add_argument("--format", choices=FORMATS, default="text", help="how to print it (text)")


def _add_job(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    add_pid(which.add_argument, "of a process of the job")
    which.add_argument(
        "--name",
        type=values.regular_expression,
        metavar="REGEX",
        help="of the job with a process whose command fits",
    )


def add_viewing(
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
        help="without a screen: stop after SECONDS even if something hangs (default: 10 in which "
        "gputop got a CPU, 60 in all)",
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
    add_settings(parser, default(None))


def add_settings(parser: argparse.ArgumentParser, default: object) -> None:
    parser.add_argument(
        "--rules",
        dest="settings",
        default=default,
        metavar="FILE",
        help="TOML file with other thresholds for the rules",
    )
