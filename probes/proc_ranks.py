"""Who a process is within a distributed job, as the environment it was started with says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from .proc_command import local_rank_argument
from .sample import ProcessReading

_NUMBER = re.compile(r"[0-9]{1,7}")
_FAMILIES = (
    # The most specific first: under srun, a rank of torchrun still has srun's variables.
    (("RANK",), ("LOCAL_RANK",), ("WORLD_SIZE",)),
    (("OMPI_COMM_WORLD_RANK",), ("OMPI_COMM_WORLD_LOCAL_RANK",), ("OMPI_COMM_WORLD_SIZE",)),
    (("PMI_RANK",), ("MPI_LOCALRANKID", "PMI_LOCAL_RANK"), ("PMI_SIZE",)),
    (("PMIX_RANK",), ("SLURM_LOCALID",), ("SLURM_NTASKS",)),
    (
        ("SLURM_PROCID",),
        ("SLURM_LOCALID",),
        ("SLURM_NTASKS", "SLURM_NPROCS", "SLURM_STEP_NUM_TASKS"),
    ),
)


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
    for ranks, local_ranks, sizes in _FAMILIES:
        rank = _first(environment, ranks)
        if rank is None:
            continue
        local_rank, size = _first(environment, local_ranks), _first(environment, sizes)
        # A lone RANK may be anybody's variable.
        if local_rank is not None or size is not None:
            return Identity(rank, local_rank, size, _master(environment))
    return _local_identity(process)


def slurm_step_of(environment: Mapping[str, str]) -> SlurmStep | None:
    """The step that the process runs in; ``None`` outside of Slurm."""
    job = environment.get("SLURM_JOB_ID") or environment.get("SLURM_JOBID")
    if not job or not _NUMBER.match(job):
        return None
    return SlurmStep(job, environment.get("SLURM_STEP_ID") or environment.get("SLURM_STEPID") or "")


def visible_device(environment: Mapping[str, str], local_rank: int | None) -> int | None:
    """The GPU that a rank of that number takes by custom. A hint: CUDA may count in another order."""
    if local_rank is None:
        return None
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return local_rank
    devices = visible.split(",")
    return _number(devices[local_rank].strip()) if local_rank < len(devices) else None


def _local_identity(process: ProcessReading) -> Identity | None:
    """Of launchers that give only the local rank: Lightning's, and DeepSpeed's older ones."""
    environment = process.environment
    local_rank = _first(environment, ("LOCAL_RANK",))
    if local_rank is None:
        local_rank = local_rank_argument(process.command)
    if local_rank is None:
        return None
    first_node = _first(environment, ("NODE_RANK", "GROUP_RANK")) == 0
    size = _first(environment, ("WORLD_SIZE",))
    return Identity(local_rank if first_node else None, local_rank, size, _master(environment))


def _master(environment: Mapping[str, str]) -> str:
    address, port = environment.get("MASTER_ADDR", ""), environment.get("MASTER_PORT", "")
    return f"{address}:{port}" if address and port else ""


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    for name in names:
        if name in environment:
            number = _number(environment[name])
            if number is not None:
                return number
    return None


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None
