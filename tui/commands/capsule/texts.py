"""The pages of a capsule that are made of frames, for people: a colleague has no gputop, perhaps."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from ....probes.model.frame import Frame
from ....probes.model.job_frames import JobFrame, RankFrame
from ....probes.model.rank_readings import StackReading
from ....probes.model.stack_places import place_of
from ...drawing.rank_words import who
from ...reports.rank_lines import group_lines, methods_line, rank_lines
from ...reports.stacks_text import thread_lines


def stacks_page(frame: Frame, jobs: Sequence[JobFrame]) -> str:
    """Of each job the groups of its ranks, a line for each, and all threads of all of them."""
    return "\n".join(_stack_lines(frame, jobs))


def exact_page(rank: RankFrame, reading: StackReading) -> str:
    """All threads of one rank, as they were while it was stopped."""
    lines = [
        f"{who([rank.rank], [rank.pid])}, stopped for it: state afterwards {reading.state_after}"
    ]
    lines += filter(None, (reading.refusal, reading.failure))
    for thread in reading.threads:
        lines += ["", f"thread {thread.name or thread.os_thread_id or '?'}"]
        lines += (f"    {place_of(each)}" for each in thread.frames)
    return "\n".join(lines)


def communicators_page(frame: Frame) -> str:
    """What NCCL's RAS answered: how far each rank of each communicator has come."""
    return "\n".join(_communicator_lines(frame))


def kernel_page(frame: Frame) -> str:
    """Lines of the kernel log on GPUs, links, disks and killed processes."""
    lines: list[tuple[float, str]] = []
    for each in frame.kernel_log:
        often = f" ({each.count} times)" if each.count > 1 else ""
        lines.append((each.time_seconds or 0.0, f"{each.kind}: {each.text}{often}"))
    return "\n".join(f"{_moment(when)}  {text}" for when, text in sorted(lines))


def log_name(rank: RankFrame, stream: str) -> str:
    """``logs/rank-3-pid-4711.stdout.txt``."""
    return f"logs/{rank_name(rank)}.{stream}.txt"


def rank_name(rank: RankFrame) -> str:
    """``rank-3-pid-4711``."""
    return f"pid-{rank.pid}" if rank.rank is None else f"rank-{rank.rank}-pid-{rank.pid}"


def numbered(reasons: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Each reason once, with whom it is about: ``rank-0-pid-7, rank-1-pid-8``."""
    for reason, whose in reasons.items():
        shown = ", ".join(whose[:4]) + (f" and {len(whose) - 4} more" if len(whose) > 4 else "")
        yield shown, reason


def _stack_lines(frame: Frame, jobs: Sequence[JobFrame]) -> Iterator[str]:
    for job in jobs:
        yield f"{job.name} on {frame.node} at {_moment(frame.time_seconds)}; {methods_line(job, frame)}"
        yield ""
        yield from group_lines(job, frame, stacks=True)
        yield ""
        yield from rank_lines(job)
        for rank in job.ranks:
            yield from thread_lines(frame, rank)
        yield ""


def _communicator_lines(frame: Frame) -> Iterator[str]:
    for each in frame.communicators:
        silent = f", no answer from ranks {', '.join(map(str, each.silent))}" if each.silent else ""
        yield f"communicator {each.id}, {each.size} ranks{silent}"
        for rank in each.ranks:
            here = f" pid {rank.pid}" if rank.pid is not None else ""
            failed = "  failed" if rank.failed else ""
            yield f"  rank {rank.rank:5}  {rank.launched:12} collectives  {rank.host}{here}{failed}"


def _moment(seconds: float) -> str:
    if not seconds:
        return "at a time that the log does not tell"
    return time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(seconds))
