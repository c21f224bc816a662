"""The jobs that a process belongs to, started, or was started by."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..model.frame import Frame
from ..model.job_frames import JobFrame


def job_of(frame: Frame, pid: int) -> JobFrame | None:
    """The one of a frame; the oldest, where the process has started several."""

    def parent_of(child: int) -> int | None:
        process = frame.process(child)
        return process.parent_pid if process else None

    return next(iter(jobs_of(frame.jobs, pid, parent_of)), None)


def jobs_of(
    jobs: Sequence[JobFrame], pid: int, parent_of: Callable[[int], int | None]
) -> list[JobFrame]:
    """The only job that the process is a part of, or else all those below it.

    Args:
        jobs: among which to look.
        pid: of the process.
        parent_of: a process's parent; ``None`` where that is not known.
    """
    own = [job for job in jobs if pid in job.pids or pid == job.launcher_pid]
    if own:
        return own[:1]
    return [job for job in jobs if any(_is_above(pid, rank.pid, parent_of) for rank in job.ranks)]


def _is_above(pid: int, below: int, parent_of: Callable[[int], int | None]) -> bool:
    seen: set[int] = set()
    while (parent := parent_of(below)) is not None and below not in seen:
        if parent == pid:
            return True
        seen.add(below)
        below = parent
    return False
