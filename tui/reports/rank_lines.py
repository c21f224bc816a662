"""What each rank does, in lines of text for reports."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ...probes.derive.activity import LEAST_SAMPLES
from ...probes.derive.stack_groups import StackGroup, merge
from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.reading import key_of
from ...probes.model.stack_places import place_of
from ...rules.distributed.rank_exited import how
from ..drawing import format
from ..drawing.rank_words import ORIGINS, STOPPED


def group_lines(job: JobFrame, frame: Frame, *, stacks: bool) -> Iterator[str]:
    """One line per group of ranks, outliers first, with their stacks if asked for."""
    for group in merge(job, frame):
        yield f"{_who(group)}: {_what(group)}"
        if stacks:
            yield from (f"    {place_of(each)}" for each in group.stack)


def rank_lines(job: JobFrame) -> Iterator[str]:
    """One line per rank: what its main thread does."""
    for rank in job.ranks:
        yield f"rank {_name(rank)}  pid {rank.pid}  {_state(rank)}{_why_no_stack(rank)}"


def ended_lines(job: JobFrame, frame: Frame) -> Iterator[str]:
    """One line per rank that has ended under our eyes: how, and when."""
    for exited in frame.exited_ranks:
        if exited.job_id == job.id:
            age = format.duration(max(0.0, frame.monotonic_seconds - exited.monotonic_seconds))
            number = "?" if exited.rank is None else exited.rank
            yield f"rank {number}  pid {exited.pid}  exited {age} ago: {how(exited)}"


def without_ended(job: JobFrame, frame: Frame) -> JobFrame:
    """The job with those ranks alone that are not known to have ended."""
    ended = {key_of(exited) for exited in frame.exited_ranks}
    ranks = tuple(rank for rank in job.ranks if key_of(rank) not in ended)
    return replace(job, ranks=ranks)


def methods_line(job: JobFrame, frame: Frame) -> str:
    """By which access methods the ranks were looked at."""
    origins = {rank.phase_source for rank in job.ranks}
    used = [words for origin, words in ORIGINS.items() if origin in origins]
    pids = {rank.pid for rank in job.ranks}
    if any(rank.pid in pids for each in frame.communicators for rank in each.ranks):
        used.append("NCCL RAS")
    return f"seen through: {', '.join(used) or 'counters alone'}"


def _what(group: StackGroup) -> str:
    if group.stopped:
        return f"{STOPPED} in {_where(group)}" if group.phase else STOPPED
    return "not known" if group.phase is None else _where(group)


def _where(group: StackGroup) -> str:
    where = f" at {group.place}" if group.place else ""
    origin = ORIGINS.get(group.phase_source or "", "")
    return f"{group.phase}, {group.doing or 'host'}{where} [{origin}]"


def _who(group: StackGroup) -> str:
    """By number, where all tell theirs."""
    kind, numbers = ("pid", group.pids) if None in group.ranks else ("rank", group.ranks)
    return f"{kind}{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def _name(rank: RankFrame) -> str:
    return "?" if rank.rank is None else str(rank.rank)


def _state(rank: RankFrame) -> str:
    activity = rank.activity
    if activity is None:
        return "not looked at"
    words = [STOPPED] if rank.stopped else []
    words.append(f"state {activity.state}")
    if activity.wait_channel:
        words.append(f"in {activity.wait_channel}")
    if activity.cpu_cores is not None:
        words.append(f"{activity.cpu_cores:.2f} cores")
    if rank.phase_dumps:
        words.append(
            _dumps_text(rank.phase_dumps, rank.phase_share or 0.0, rank.phase_margin or 0.0)
        )
    return ", ".join(words)


def _dumps_text(stacks: int, share: float, margin: float) -> str:
    """How many stacks reported the phase; a share of so few would only look exact."""
    if stacks < LEAST_SAMPLES:
        return f"{share * stacks:.0f} of {format.counted(stacks, 'stack')}"
    return f"{share * 100:.0f} % ± {margin * 100:.0f} % of {stacks} stacks"


def _why_no_stack(rank: RankFrame) -> str:
    reason = rank.missing.get("stack")
    return f"  (no stack: {reason})" if reason else ""
