"""What the stacks screen shows, as text to paste into a ticket."""

from __future__ import annotations

from collections.abc import Iterator

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.stack_places import place_of
from ..drawing import format
from ..drawing.lines import plain_text
from ..drawing.rank_words import who
from .rank_lines import group_lines, methods_line, rank_lines


def stacks_text(frame: Frame, job: JobFrame, rank: RankFrame | None) -> str:
    """Groups with their stacks, a line for each rank, and all threads of one.

    Args:
        frame: of that moment.
        job: whose ranks they are.
        rank: of whom to tell all threads.
    """
    moment = format.clock(frame.time_seconds)
    lines = [f"{job.name} on {frame.node} at {moment}; {methods_line(job, frame)}", ""]
    lines += [*group_lines(job, frame, stacks=True), "", *rank_lines(job)]
    if rank is not None:
        lines += thread_lines(frame, rank)
    return plain_text(lines) + "\n"


def thread_lines(frame: Frame, rank: RankFrame) -> Iterator[str]:
    """All threads of a rank, with their stacks."""
    reading = frame.stacks_of(rank)
    for thread in reading.threads if reading else ():
        yield ""
        yield f"{who([rank.rank], [rank.pid])}, thread {thread.name or thread.os_thread_id or '?'}"
        yield from (f"    {place_of(each)}" for each in thread.frames)
