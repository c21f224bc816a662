"""``gputop stacks PID``: where every rank of a job is, merged, as text or JSON."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter

from ..probes.feeds import FeedError
from ..probes.frame import Frame, JobFrame
from ..probes.stack_reader import VOTES
from ..rules.finding import Judgement
from .asked_job import AskedProcess, job_of, until
from .diagnose import as_json, has_ended, why_no_job
from .exits import COULD_NOT_LOOK, OK, complain
from .output import say, say_json
from .rank_lines import group_lines, means_line, rank_lines
from .watch import Watch

PATIENCE_SECONDS = 12.0


def print_stacks(watch: Watch, options: Namespace) -> int:
    """Take three dumps of each rank, print them; returns the exit code."""
    asked = AskedProcess(options.pid[0])
    last: Judgement | None = None
    job: JobFrame | None = None
    try:
        for judgement in until(watch, PATIENCE_SECONDS):
            asked.follow(judgement.frame)
            found = job_of(judgement.frame, asked.pid)
            if found is None:
                if asked.ended:
                    break
                continue
            last, job = judgement, found
            watch.take_stacks([rank.pid for rank in job.ranks], PATIENCE_SECONDS)
            if _complete(job, judgement.frame):
                break
    except FeedError as error:
        return complain(str(error), COULD_NOT_LOOK)
    finally:
        watch.close()
        if watch.stuck:
            complain(watch.stuck)
    ended = has_ended(asked) if asked.ended else ""
    if last is None or job is None:
        return complain(ended or why_no_job(asked), COULD_NOT_LOOK)
    any_stack = any(each.main_stacks for each in last.frame.stacks)
    if any_stack or not ended:
        if options.format == "json":
            say_json(as_json(last, job, ()))
        else:
            lines = [means_line(job, last.frame), "", *group_lines(job, last.frame, stacks=True)]
            say("\n".join([*lines, "", *rank_lines(job)]))
    if ended:
        return complain(ended, COULD_NOT_LOOK)
    return OK if any_stack else complain(_why_no_stack(job), COULD_NOT_LOOK)


def _why_no_stack(job: JobFrame) -> str:
    """One sentence, with the reason of most ranks: of each rank its own has been printed."""
    reasons = Counter(rank.missing.get("stack", "") for rank in job.ranks)
    reason, _ = reasons.most_common(1)[0]
    others = "" if len(reasons) == 1 else " (other ranks have other reasons)"
    return f"no stack: {reason or f'none came within {PATIENCE_SECONDS:.0f} s'}{others}"


def _complete(job: JobFrame, frame: Frame) -> bool:
    """Whether waiting longer would bring no more."""
    readings = {each.pid: each for each in frame.stacks}
    return all(
        "stack" in rank.missing  # of nobody here can they be taken
        if (reading := readings.get(rank.pid)) is None
        else reading.refusal or len(reading.main_stacks) >= VOTES
        for rank in job.ranks
    )
