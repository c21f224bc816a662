"""Which job is meant: the only one that fits what was asked for, or one of those that are listed."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from ...probes.attach.job_scan import jobs_below, jobs_here, jobs_named
from ...probes.model.job_frames import JobFrame
from ..console.exits import COULD_NOT_LOOK, complain
from ..console.output import say, say_json
from ..drawing.glyphs import DOT
from ..drawing.job_words import job_words, pid_of
from ..drawing.lines import plain

NO_JOB = "no training job was found on this node; gputop attach PID watches any process"


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
    jobs = jobs_below(pid)
    if len(jobs) < 2:
        return None
    options.pid = []
    return _offer(options, jobs, f"{len(jobs)} jobs run below process {pid}", screen=screen)


def _choose_named(options: Namespace, pattern: str, *, screen: bool) -> int | None:
    jobs, pid = jobs_named(pattern)
    if pid is None:
        why = f"no training process fits {pattern!r}: gputop attach lists the jobs"
        return complain(why, COULD_NOT_LOOK)
    if len(jobs) > 1:
        return _offer(options, jobs, f"{len(jobs)} jobs fit {pattern!r}", screen=screen)
    options.pid = [pid]
    return None


def _offer(
    options: Namespace, jobs: Sequence[JobFrame], how_many: str, *, screen: bool
) -> int | None:
    """Let the reader choose one, or list them; the exit code where nobody can be asked."""
    if screen:
        options.jobs = jobs
        return None
    if options.format == "json":
        say_json(as_json(jobs))
    else:
        say("\n".join(job_lines(jobs, options.command)), ascii_only=options.ascii)
    pids = ", ".join(str(pid_of(job)) for job in jobs)
    return complain(f"{how_many}: say which one (pid {pids})", COULD_NOT_LOOK)


def as_json(jobs: Sequence[JobFrame]) -> bytes:
    """One object under the public names."""
    from ..reports.json_output import Clock, Output

    return Output(Clock.here()).encode(jobs=jobs)


def job_lines(jobs: Sequence[JobFrame], command: str) -> list[str]:
    """One line a job: what to type, and what it is."""
    typed = [f"gputop {command} {pid_of(job)}" for job in jobs]
    width = max(map(len, typed))
    return [
        f"{words:{width}}   {f' {DOT} '.join(job_words(job))}"
        for words, job in zip(typed, jobs, strict=True)
    ]
