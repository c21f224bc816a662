"""The command line's grammar: global options first, then a command, ``gputop PID`` for short."""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, NoReturn

from .. import __version__
from ..rules.suggestion import suggestion
from .console import values
from .console.errors import UsageError
from .console.output import say
from .evidence_arguments import add_capture, add_compare, add_export
from .job_arguments import WITH_VALUE, add_probe, add_run, split_job
from .output_arguments import add_recordings, add_serve, add_stream
from .shared_arguments import add_source
from .view_arguments import (
    FORMATS,
    SCENARIO,
    add_attach,
    add_collect,
    add_demo,
    add_reports,
    add_rules,
    add_settings,
    add_viewing,
)

_HELP = "gputop --help shows all"
_DIAGNOSE_SECONDS = 30.0
_BEFORE_END = r"-\d[\d.]*[smh]?"


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
    words, job = split_job(_with_times(argv))
    options = _parsed(_with_attach(_with_demo(words)))
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


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    """By the grammar of the command that is asked for: that of all takes 3 ms to make.

    Help is about all of them, and so is what was meant by a word that is wrong.
    """
    if not {"-h", "--help"}.intersection(words):
        with contextlib.suppress(UsageError):
            return _parsed_by(words, words)
    return _parsed_by(words, None)


def _parsed_by(words: Sequence[str], named: Container[str] | None) -> argparse.Namespace:
    parser, commands = _parser(named)
    options, unknown = parser.parse_known_args(words)
    if unknown:
        known = commands.get(options.command, parser).option_names
        raise UsageError(f"{_not_known(unknown[0], options.command, known)} ({_HELP})")
    return options


def _not_known(word: str, command: str | None, options: Sequence[str]) -> str:
    place = f"gputop {command}" if command else "gputop"
    if word.startswith("-"):
        name = word.partition("=")[0]
        return f"{place} has no option {name!r}{suggestion(name, options)}"
    return f"{place} has no place for {word!r}"


def _listed(choices: Sequence[str]) -> str:
    *first, last = choices or ("none",)
    return f"{', '.join(first)} or {last}" if first else last


def _with_times(argv: Sequence[str]) -> list[str]:
    """``--at -5m``: a time before the end, which looks like an option."""
    words: list[str] = []
    for word in argv:
        if words and words[-1] in ("--at", "--from", "--to") and re.fullmatch(_BEFORE_END, word):
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
        elif word in WITH_VALUE:
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
        if place > 0 and words[place - 1] not in WITH_VALUE:
            words[place] = "--demo"
            if place + 1 == len(words) or words[place + 1].startswith("-"):
                words.insert(place + 1, SCENARIO)
    return words


def _parser(words: Container[str] | None) -> tuple[_Parser, Mapping[str, _Parser]]:
    """The grammar, and its part for each command; of these only what ``words`` name, or all."""
    parser = _Parser(
        prog="gputop",
        description="Live monitor for GPU training jobs: what every GPU's second is spent on, "
        "what is wrong, and what to do next.",
        epilog="gputop PID is short for gputop attach PID. Without a terminal, one frame is "
        "printed as text.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gputop {__version__}")
    add_viewing(parser, suppress=False)
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
        rejudge=False,
    )
    for names_of_part, add_part in _PARTS:
        if words is None or any(name in words for name in names_of_part):
            add_part(commands)
    return parser, commands.choices


_PARTS: tuple[tuple[tuple[str, ...], Callable[[Any], None]], ...] = (
    (("attach",), add_attach),
    (("diagnose", "stacks", "doctor"), add_reports),
    (("run",), add_run),
    (("probe",), lambda commands: add_probe(commands, values.pid, FORMATS)),
    (("demo",), add_demo),
    (("rules",), add_rules),
    (("serve",), lambda commands: add_serve(commands.add_parser, add_viewing)),
    (
        ("record", "replay", "cut"),
        lambda commands: add_recordings(commands.add_parser, add_viewing),
    ),
    (("compare",), lambda commands: add_compare(commands.add_parser, add_settings, FORMATS)),
    (("capture",), lambda commands: add_capture(commands.add_parser, add_viewing)),
    (("export",), lambda commands: add_export(commands.add_parser)),
    (("stream",), lambda commands: add_stream(commands.add_parser, add_viewing)),
    (("collect",), add_collect),
)
"""The commands, in the order in which help tells them, and who knows their grammar."""
