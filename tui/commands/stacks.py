"""``gputop stacks PID``: where every rank of a job is, merged, as text or JSON."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter

from ...probes.feeds.protocol import FeedError
from ...probes.jobs.ownership import job_of
from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame
from ...probes.model.rank_readings import DUMPS
from ...rules.finding import Judgement
from ..console.exits import COULD_NOT_LOOK, OK, complain
from ..console.output import say, say_json
from ..drawing.lines import plain_text
from ..reports.rank_lines import group_lines, methods_line, rank_lines
from ..reports.worker_stack import worker_lines, worker_pids, worker_stack
from ..session.asked_process import AskedProcess, until
from ..session.watch import Watch
from .diagnose import as_json, has_ended, why_no_job

PATIENCE_SECONDS = 12.0
JOB_LOOKS = 4
"""At a process that leads to no job, after which it is not taken for one that is about to."""


def print_stacks(watch: Watch, options: Namespace) -> int:
    """Take three dumps of each rank, print them; returns the exit code."""
    asked = AskedProcess(options.pid[0])
    last: Judgement | None = None
    job: JobFrame | None = None
    seen: Frame | None = None
    try:
        for judgement in until(watch, PATIENCE_SECONDS, options.timeout):
            seen = judgement.frame
            asked.follow(judgement.frame)
            found = job_of(judgement.frame, asked.pid)
            if found is None:
                if asked.ended or asked.looks >= JOB_LOOKS:
                    break
                continue
            last, job = judgement, found
            workers = worker_pids(job, asked.pid)
            watch.take_stacks([*(rank.pid for rank in job.ranks), *workers], PATIENCE_SECONDS)
            if _complete(job, workers, judgement.frame):
                break
    except FeedError as error:
        return complain(str(error), COULD_NOT_LOOK)
    finally:
        watch.close()
        for line in filter(None, (watch.stuck, watch.cut_short)):
            complain(line)
    ended = has_ended(asked) if asked.ended else ""
    if last is None or job is None:
        return complain(ended or why_no_job(asked, seen), COULD_NOT_LOOK)
    any_stack = any(each.main_stacks for each in last.frame.stacks)
    if any_stack or not ended:
        worker = worker_stack(last.frame, job, asked.pid)
        if options.format == "json":
            say_json(as_json(last, job, (), worker))
        else:
            lines = [methods_line(job, last.frame), "", *group_lines(job, last.frame, stacks=True)]
            lines += ["", *rank_lines(job)]
            lines += ["", *worker_lines(worker)] if worker else []
            say(plain_text(lines))
    if ended:
        return complain(ended, COULD_NOT_LOOK)
    return OK if any_stack else complain(_why_no_stack(job), COULD_NOT_LOOK)


def _why_no_stack(job: JobFrame) -> str:
    """One sentence, with the reason of most ranks: of each rank its own has been printed."""
    reasons = Counter(rank.missing.get("stack", "") for rank in job.ranks)
    reason, _ = reasons.most_common(1)[0]
    others = "" if len(reasons) == 1 else " (other ranks have other reasons)"
    return f"no stack: {reason or f'none came within {PATIENCE_SECONDS:.0f} s'}{others}"


def _complete(job: JobFrame, workers: list[int], frame: Frame) -> bool:
    """Whether waiting longer would bring no more."""
    refused = {rank.pid for rank in job.ranks if "stack" in rank.missing}
    readings = {each.pid: each for each in frame.stacks}
    if not readings and len(refused) == len(job.ranks):
        return True  # of nobody here can they be taken
    return all(
        (reading := readings.get(pid)) is not None
        and (reading.refusal or len(reading.main_stacks) >= DUMPS)
        for pid in (*(rank.pid for rank in job.ranks), *workers)
    )
