"""Which job is meant: the only one that fits what was asked for, or one of those that are listed."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence

import msgspec

from ...probes.attach.job_scan import jobs_here, jobs_with
from ...probes.attach.process_search import pids_named
from ...probes.model.job_frames import JobFrame
from ...probes.model.sample import SCHEMA_VERSION
from ...probes.sources.procfs.parents import is_leaf, parent_pid
from ..console.exits import COULD_NOT_LOOK, complain
from ..console.output import say, say_json
from ..drawing import format
from ..drawing.glyphs import DOT
from ..drawing.job_words import owner_words, size_words
from ..drawing.lines import plain
from ..session.jobs_of import jobs_of

NO_JOB = "no training job was found on this node; gputop attach PID watches any process"


def pid_of(job: JobFrame) -> int:
    """A process that leads to all of a job. What started it may be a shell with other jobs too."""
    return job.ranks[0].pid


def choose(options: Namespace, *, screen: bool) -> int | None:
    """Fill ``options.pid``, or ``options.jobs`` where the reader can choose; else the exit code.

    Args:
        options: of a command that is about one job; what was asked for may be more, or nothing.
        screen: there is one on which to choose.
    """
    if options.pid:
        return _choose_below(options, options.pid[0], screen=screen)
    if options.name:
        return _choose_named(options, options.name, screen=screen)
    jobs = jobs_here()
    if not jobs:
        return complain(NO_JOB, COULD_NOT_LOOK)
    if len(jobs) == 1:
        options.pid = [pid_of(jobs[0])]
        options.notices.append(f"the only job here: {plain(jobs[0].name)}, pid {options.pid[0]}")
        return None
    return _offer(options, jobs, f"{len(jobs)} jobs run here", screen=screen)


def _choose_below(options: Namespace, pid: int, *, screen: bool) -> int | None:
    """A shell, or init, may have started several jobs."""
    if is_leaf(pid):
        return None
    jobs = jobs_of(jobs_with([pid]), pid, parent_pid)
    if len(jobs) < 2:
        return None
    options.pid = []
    return _offer(options, jobs, f"{len(jobs)} jobs run below process {pid}", screen=screen)


def _choose_named(options: Namespace, pattern: str, *, screen: bool) -> int | None:
    fitting = pids_named(pattern)
    if not fitting:
        why = f"no training process fits {pattern!r}: gputop attach lists the jobs"
        return complain(why, COULD_NOT_LOOK)
    all_jobs = jobs_with(fitting)
    by_pid = {pid: jobs_of(all_jobs, pid, parent_pid) for pid in fitting}
    wanted = {job.id for found in by_pid.values() for job in found}
    jobs = [job for job in all_jobs if job.id in wanted]
    if len(jobs) > 1:
        return _offer(options, jobs, f"{len(jobs)} jobs fit {pattern!r}", screen=screen)
    options.pid = [next((pid for pid, found in by_pid.items() if found), fitting[0])]
    return None


def _offer(
    options: Namespace, jobs: Sequence[JobFrame], how_many: str, *, screen: bool
) -> int | None:
    """Let the reader choose one, or list them; the exit code where nobody can be asked."""
    if screen:
        options.jobs = jobs
        return None
    if options.format == "json":
        say_json(msgspec.json.encode({"schema_version": SCHEMA_VERSION, "jobs": jobs}) + b"\n")
    else:
        say("\n".join(job_lines(jobs, options.command)), ascii_only=options.ascii)
    pids = ", ".join(str(pid_of(job)) for job in jobs)
    return complain(f"{how_many}: say which one (pid {pids})", COULD_NOT_LOOK)


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
