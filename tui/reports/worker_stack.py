"""Where one worker of a rank is, for who asks by the worker's own pid."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame
from ...probes.model.rank_readings import Stack
from ...probes.model.stack_places import place_of


class WorkerStack(msgspec.Struct, frozen=True, kw_only=True):
    """Printed after the ranks: a loader that hangs does so in a worker."""

    pid: int
    rank: int | None
    stack: Stack
    reason: str
    """Why there is no stack; empty where there is one."""


def worker_pids(job: JobFrame, pid: int) -> list[int]:
    """The process, where it is a worker of one of the ranks."""
    return [pid] if any(pid in rank.workers for rank in job.ranks) else []


def worker_stack(frame: Frame, job: JobFrame, pid: int) -> WorkerStack | None:
    """Its stack; ``None`` where it is no worker."""
    rank = next((each for each in job.ranks if pid in each.workers), None)
    if rank is None:
        return None
    reading = next((each for each in frame.stacks if each.pid == pid), None)
    stack = reading.main_stacks[-1] if reading and reading.main_stacks else ()
    reason = (reading.refusal or reading.failure) if reading else rank.missing.get("stack", "")
    return WorkerStack(
        pid=pid,
        rank=rank.rank,
        stack=stack,
        reason="" if stack else reason or "none came in time",
    )


def worker_lines(worker: WorkerStack) -> Iterator[str]:
    """As text."""
    name = "?" if worker.rank is None else str(worker.rank)
    why = f" no stack: {worker.reason}" if worker.reason else ""
    yield f"worker {worker.pid} of rank {name}:{why}"
    yield from (f"    {place_of(each)}" for each in worker.stack)
