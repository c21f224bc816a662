"""The job that a process id or a name leads to, for the commands that work without a screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..probes.feeds import FeedError
from ..probes.frame import Frame
from ..probes.proc_command import job_name, kind_of
from ..probes.proc_files import read_file
from ..probes.proc_text import parse_command, parse_stat
from ..rules.finding import Judgement
from .watch import Watch


class AskedProcess:
    """The process that was asked about, from frame to frame: its number may come to mean another one."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._began: float | None = None
        self.ended = False
        """It was there, and is not any more."""

    def follow(self, frame: Frame) -> None:
        """Look for it in a frame."""
        process = frame.process(self.pid)
        if process is None:
            processes = frame.source("processes")
            self.ended |= processes is not None and processes.status == "ok"
            return
        if self._began is None:
            self._began = process.start_time_seconds
        unreaped = process.state in ("Z", "X") and (process.threads or 0) <= 1
        self.ended |= unreaped or process.start_time_seconds != self._began


def pid_named(pattern: str, root: Path = Path("/")) -> int:
    """The oldest training process whose command line fits a regular expression.

    Raises:
        FeedError: when there is none.
    """
    wanted = re.compile(pattern)
    found = [
        (kind_of(command) != "launcher", start, pid)
        for pid, start, command in _commands(root)
        if kind_of(command) in ("launcher", "program") and _fits(wanted, command)
    ]
    if not found:
        raise FeedError(f"no training process fits {pattern!r}: gputop --once lists the jobs")
    return min(found)[2]


def until(watch: Watch, seconds: float) -> Iterator[Judgement]:
    """What is judged in the next so many seconds, by the clock of the samples.

    Raises:
        FeedError: when the feed cannot go on.
    """
    began: float | None = None
    for judgement in watch.judgements():
        now = judgement.frame.monotonic_seconds
        began = now if began is None else began
        yield judgement
        if now - began >= seconds:
            return


def _fits(wanted: re.Pattern[str], command: tuple[str, ...]) -> bool:
    own = "gputop" in command[0] or any(word.endswith("/gputop") for word in command[:2])
    return not own and (
        bool(wanted.search(job_name(command))) or bool(wanted.search(" ".join(command)))
    )


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
