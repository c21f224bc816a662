"""Processes by what their command line says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..jobs.command_line import is_gputop, job_name, kind_of, python_of
from ..sources.procfs.files import read_file
from ..sources.procfs.text import parse_command, parse_stat

_OTHER = 2


def pids_named(pattern: str, root: Path = Path("/")) -> list[int]:
    """Those whose command line fits a regular expression: launchers, then Pythons, the oldest first.

    Other programs count only where there are none of these: an editor of the script is not meant.
    """
    wanted = re.compile(pattern)
    found = [
        (_unlikelihood(command), start, pid)
        for pid, start, command in _commands(root)
        if kind_of(command) in ("launcher", "program") and _fits(wanted, command)
    ]
    likely = [each for each in found if each[0] < _OTHER]
    return [pid for *_, pid in sorted(likely or found)]


def _unlikelihood(command: tuple[str, ...]) -> int:
    if kind_of(command) == "launcher":
        return 0
    return _OTHER if python_of(command) is None else 1


def _fits(wanted: re.Pattern[str], command: tuple[str, ...]) -> bool:
    named = wanted.search(job_name(command)) or wanted.search(" ".join(command))
    return bool(named) and not is_gputop(command)


def _commands(root: Path) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    for folder in (root / "proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            stat = parse_stat(read_file(folder / "stat"))
            command = parse_command(read_file(folder / "cmdline"))
        except OSError:
            continue
        if stat is not None and command and command[0]:
            yield int(folder.name), stat.start_ticks, command
