"""Whose a job is and where it runs, in words."""

from __future__ import annotations

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
