"""Who a process is within a distributed job, as the environment it was started with says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ..inprocess.rank_variables import Ranks, lone_rank, ranks_in
from ..model.process_readings import ProcessReading
from .command_line import local_rank_argument, rank_arguments

_JOB = re.compile(r"[0-9]{1,10}")
_SLURM_GROUP = re.compile(r"slurm[^ ]*/job_([0-9]{1,10})(?:/step_([a-z0-9]+))?")


class Identity(NamedTuple):
    """A rank by name. A child inherits it, so it alone does not make a process a rank."""

    rank: int | None
    local_rank: int | None = None
    world_size: int | None = None
    master: str = ""
    """Where the ranks of the job meet, as ``address:port``; empty where not given."""


class SlurmStep(NamedTuple):
    """The Slurm job and step that a process runs in."""

    job: str
    step: str


def identity_of(process: ProcessReading) -> Identity | None:
    """The identity that the process was started with; ``None`` where nothing tells."""
    environment = process.environment
    ranks = ranks_in(environment, local_rank_argument(process.command))
    if ranks is None:
        named = rank_arguments(process.command)
        if named is not None:
            ranks = Ranks(named[0], world_size=named[1])
        elif process.in_process_group:
            ranks = lone_rank(environment)
    if ranks is None:
        return None
    return Identity(ranks.rank, ranks.local_rank, ranks.world_size, _master(environment))


def same_rank(one: Identity | None, other: Identity | None) -> bool:
    """Whether both are the same rank, though one may tell less of it than the other."""
    if one is None or other is None:
        return one is other
    if (one.rank, one.world_size) != (other.rank, other.world_size):
        return False
    return one.local_rank == other.local_rank or (
        one.rank is not None and None in (one.local_rank, other.local_rank)
    )


def slurm_step_of(process: ProcessReading) -> SlurmStep | None:
    """The step that the process runs in, by its variables or control group; ``None`` outside of Slurm."""
    environment = process.environment
    job = environment.get("SLURM_JOB_ID") or environment.get("SLURM_JOBID")
    if not job or not _JOB.match(job):
        found = _SLURM_GROUP.search(process.cgroup or "")
        return SlurmStep(found[1], found[2] or "") if found else None
    return SlurmStep(job, environment.get("SLURM_STEP_ID") or environment.get("SLURM_STEPID") or "")


def _master(environment: Mapping[str, str]) -> str:
    address, port = environment.get("MASTER_ADDR", ""), environment.get("MASTER_PORT", "")
    return f"{address}:{port}" if address and port else ""
