"""Whose a job is and where it runs, in words."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ...probes.model.job_frames import JobFrame
from . import format
from .lines import plain


def owner_words(job: JobFrame) -> Iterator[str]:
    """User, Slurm step, container and pod, as far as they are known."""
    if job.user:
        yield plain(job.user)
    if job.slurm_job_id:
        step = f".{plain(job.slurm_step_id)}" if job.slurm_step_id else ""
        yield f"Slurm {plain(job.slurm_job_id)}{step}"
    if job.container_id or job.container_kind:
        named = (job.container_kind or "container", (job.container_id or "")[:12])
        yield " ".join(plain(word) for word in named if word)
    if job.pod_name or job.pod_uid:
        yield f"pod {plain(job.pod_name or job.pod_uid or '')}"


def size_words(job: JobFrame) -> str:
    """``2 ranks of 16``."""
    size = job.world_size or 0
    ranks = format.counted(len(job.ranks), "rank")
    return f"{ranks} of {size}" if size > len(job.ranks) else ranks


def command_words(job: JobFrame) -> str:
    """Its command line; empty where it is not known."""
    return plain(" ".join(job.command or ()))


def pid_of(job: JobFrame) -> int:
    """A process that leads to all of a job. What started it may be a shell with other jobs too."""
    return job.ranks[0].pid


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
