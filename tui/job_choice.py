"""Which job is meant where none is named: the only one, or one of those that are listed."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence

import msgspec

from ..probes.frame import JobFrame
from ..probes.job_scan import jobs_here
from ..probes.sample import SCHEMA_VERSION
from . import format
from .exits import COULD_NOT_LOOK, complain
from .glyphs import DOT
from .job_words import owner_words, size_words
from .lines import plain
from .output import say, say_json

NO_JOB = "no training job was found on this node; gputop attach PID watches any process"


def pid_of(job: JobFrame) -> int:
    """A process that leads to all of a job. What started it may be a shell with other jobs too."""
    return job.ranks[0].pid


def choose(options: Namespace, *, screen: bool) -> int | None:
    """Fill ``options.pid``, or ``options.jobs`` where the reader can choose; else the exit code.

    Args:
        options: of a command that is about one job, and names none.
        screen: there is one on which to choose.
    """
    jobs = jobs_here()
    if not jobs:
        return complain(NO_JOB, COULD_NOT_LOOK)
    if len(jobs) == 1:
        options.pid = [pid_of(jobs[0])]
        options.notices.append(f"the only job here: {plain(jobs[0].name)}, pid {options.pid[0]}")
        return None
    if screen:
        options.jobs = jobs
        return None
    if options.format == "json":
        say_json(msgspec.json.encode({"schema_version": SCHEMA_VERSION, "jobs": jobs}) + b"\n")
    else:
        say("\n".join(job_lines(jobs, options.command)), ascii_only=options.ascii)
    return complain(f"{len(jobs)} jobs run here: say which one", COULD_NOT_LOOK)


def job_lines(jobs: Sequence[JobFrame], command: str) -> list[str]:
    """One line a job: what to type, and what it is."""
    typed = [f"gputop {command} {pid_of(job)}" for job in jobs]
    width = max(map(len, typed))
    return [
        f"{words:{width}}   {f' {DOT} '.join(job_words(job))}"
        for words, job in zip(typed, jobs, strict=True)
    ]


def job_words(job: JobFrame) -> list[str]:
    """What a job is, whose, since when, and where."""
    words = [plain(job.name), size_words(job), *owner_words(job)]
    if job.start_time_seconds is not None:
        words.append(f"for {format.duration(_age(job.start_time_seconds))}")
    if job.working_directory:
        words.append(plain(job.working_directory))
    return words


def _age(start_time_seconds: float) -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME) - start_time_seconds
