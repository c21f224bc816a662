"""Processes by what their command line says, and by who started them.

Importing psutil takes 50 to 95 ms: that happens within the functions, when somebody asks for a name or
for a tree, and never on the way to the first picture.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..jobs.command_line import is_gputop, job_name, kind_of, python_of
from ..sources.procfs.target import start_time_of
from ..sources.procfs.text import same_start

_OTHER = 2


class Found(NamedTuple):
    """Exactly one process, also when its pid belongs to another one later."""

    pid: int
    start_time_seconds: float


def pids_named(pattern: str) -> list[int]:
    """Those whose command line fits a regular expression: launchers, then Pythons, the oldest first.

    Other programs count only where there are none of these: an editor of the script is not meant.
    """
    import psutil

    wanted = re.compile(pattern)
    found: list[tuple[int, float, int]] = []
    for process in psutil.process_iter(["cmdline", "create_time"]):
        command = tuple(process.info["cmdline"] or ())
        if not command or not command[0]:
            continue
        if kind_of(command) in ("launcher", "program") and _fits(wanted, command):
            found.append((_unlikelihood(command), process.info["create_time"] or 0.0, process.pid))
    likely = [each for each in found if each[0] < _OTHER]
    return [pid for *_, pid in sorted(likely or found)]


def processes_below(pid: int, start_time_seconds: float) -> list[Found]:
    """All that this very process has started, and what those have, the nearest first; of a gone one none."""
    import psutil

    try:
        process = psutil.Process(pid)
        began = start_time_of(pid)
        if began is None or not same_start(began, start_time_seconds):
            return []
        children = process.children(recursive=True)
    except psutil.Error:
        return []
    starts = ((child, start_time_of(child.pid)) for child in children)
    return [
        Found(child.pid, start)
        for child, start in starts
        if start is not None and child.is_running()  # so it was no successor's start
    ]


def _unlikelihood(command: tuple[str, ...]) -> int:
    if kind_of(command) == "launcher":
        return 0
    return _OTHER if python_of(command) is None else 1


def _fits(wanted: re.Pattern[str], command: tuple[str, ...]) -> bool:
    named = wanted.search(job_name(command)) or wanted.search(" ".join(command))
    return bool(named) and not is_gputop(command)
