"""The part of the grammar that is about what runs inside a job: ``run`` and ``probe``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

DUMPS = ("flight-recorder", "memory-snapshot", "stacks")
QUESTIONS = ("status", "profile", *DUMPS)
_DEFAULT_STEPS = 3


WITH_VALUE = frozenset(
    {
        *("-i", "--interval", "--format", "--rules", "--timeout"),
        *("--from", "--at", "--record-on-finding"),
    }
)
"""Options that may stand before a command: the word behind one is no command, whatever it is."""


def split_job(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is for gputop, and the command after ``run``: all behind ``--``, or from its first word."""
    words = list(argv)
    named = (i for i, word in enumerate(words) if word == "run" and not _is_value(words, i))
    start = next(named, None)
    if start is None:
        return words, []
    if any(
        not word.startswith("-") and not _is_value(words, i) for i, word in enumerate(words[:start])
    ):
        return words, []  # another command's word
    for position in range(start + 1, len(words)):
        if words[position] == "--":
            return words[:position], words[position + 1 :]
        if not words[position].startswith("-"):
            return words[:position], words[position:]
    return words, []


def _is_value(words: Sequence[str], position: int) -> bool:
    return position > 0 and words[position - 1] in WITH_VALUE


def add_run(commands: Any) -> None:
    """``run``: its command is split off before, see `split_job`."""
    run = commands.add_parser(
        "run",
        help="start a job with the probe in its Pythons: gputop run -- torchrun train.py",
        usage="gputop run [--tui] [-v] -- COMMAND…",
        description="Start a job whose training processes load the probe: no code change, nothing "
        "installed in its environment. One variable differs (PYTHONPATH); the job keeps its pid, "
        "terminal, signals and exit code. python -I, -E and -S ignore that variable, and containers "
        "and other hosts get it only if their launcher passes it on.",
        allow_abbrev=False,
    )
    run.add_argument(
        "--tui",
        action="store_true",
        help="open the screen here; the job's output goes to a file, whose name is reported",
    )
    run.add_argument(
        "-v", "--verbose", action="store_true", help="say how to watch it, also without a terminal"
    )


def add_inject(attach: argparse.ArgumentParser) -> None:
    """The option of ``attach`` that changes the process."""
    attach.add_argument(
        "--inject",
        action="store_true",
        help="load the probe into the running process: Python 3.14 and later, by sys.remote_exec. "
        "Debuggers are never used for it: they have left training jobs deadlocked",
    )


def add_probe(commands: Any, pid: Callable[[str], int], formats: Sequence[str]) -> None:
    """``probe``: requests to the probe of one process."""
    probe = commands.add_parser(
        "probe",
        help="ask the probe inside a process: status, profile, stacks, flight-recorder, …",
        description="Ask the probe inside a training process. profile records the next steps with "
        "torch.profiler into a Chrome trace; it takes the process's only CUPTI subscription and "
        "slows these steps. Files are written by the job, and never overwritten.",
        allow_abbrev=False,
    )
    probe.add_argument(
        "pid", type=pid, nargs=1, metavar="PID", help="of a process with the probe in it"
    )
    probe.add_argument(
        "question", choices=QUESTIONS, metavar="|".join(QUESTIONS), help="what to ask it for"
    )
    probe.add_argument(
        "steps", nargs="?", type=_steps, metavar="N", help=f"of profile ({_DEFAULT_STEPS})"
    )
    probe.add_argument("-o", "--output", metavar="FILE", help="where to; text goes to the terminal")
    probe.add_argument("--format", choices=formats, default="text", help="of status (text)")


def _steps(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of steps from 1 to 100")
    return int(text)
