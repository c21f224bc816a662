"""The environment variables by which a launcher tells a process who it is within its job.

The monitor reads them from outside and the probe from inside, and both must say the same: so this is
the one table of them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_FAMILIES = (
    # The most specific first: under srun, a rank of torchrun still has srun's variables.
    (("RANK",), ("LOCAL_RANK",), ("WORLD_SIZE",)),
    (("HOROVOD_RANK",), ("HOROVOD_LOCAL_RANK",), ("HOROVOD_SIZE",)),
    (("OMPI_COMM_WORLD_RANK",), ("OMPI_COMM_WORLD_LOCAL_RANK",), ("OMPI_COMM_WORLD_SIZE",)),
    (("MV2_COMM_WORLD_RANK",), ("MV2_COMM_WORLD_LOCAL_RANK",), ("MV2_COMM_WORLD_SIZE",)),
    (("JSM_NAMESPACE_RANK",), ("JSM_NAMESPACE_LOCAL_RANK",), ("JSM_NAMESPACE_SIZE",)),
    (("FLUX_TASK_RANK",), ("FLUX_TASK_LOCAL_ID",), ("FLUX_JOB_SIZE",)),
    (("PALS_RANKID",), ("PALS_LOCAL_RANKID",), ("PMI_SIZE",)),
    (("PMI_RANK",), ("MPI_LOCALRANKID", "PMI_LOCAL_RANK"), ("PMI_SIZE",)),
    (("PMIX_RANK",), ("SLURM_LOCALID",), ("SLURM_NTASKS",)),
    (
        ("SLURM_PROCID",),
        ("SLURM_LOCALID",),
        ("SLURM_NTASKS", "SLURM_NPROCS", "SLURM_STEP_NUM_TASKS"),
    ),
)
"""Of each launcher: names for the rank, the local rank and the number of ranks."""
RANK_NAMES = tuple([name for ranks, _, _ in _FAMILIES for name in ranks])
"""A process that has none of them was not started as a rank."""
VARIABLES = frozenset([name for family in _FAMILIES for names in family for name in names])
"""All that a launcher tells ranks by."""
_MEETING = ("MASTER_ADDR", "MASTER_PORT")
_MOST_DIGITS = 7


class Ranks:
    """Who a process is within its job; each is ``None`` where nothing tells."""

    __slots__ = ("local_rank", "rank", "world_size")

    def __init__(
        self, rank: int | None, local_rank: int | None = None, world_size: int | None = None
    ) -> None:
        self.rank = rank
        self.local_rank = local_rank
        self.world_size = world_size


def ranks_in(environment: Mapping[str, str], local_rank: int | None = None) -> Ranks | None:
    """Who the process is that was started with this environment; ``None`` where nothing tells.

    Args:
        environment: of the process.
        local_rank: as its command line says, for launchers that give nothing else.
    """
    for ranks, local_ranks, sizes in _FAMILIES:
        rank = _first(environment, ranks)
        if rank is None:
            continue
        local, size = _first(environment, local_ranks), _first(environment, sizes)
        if size is not None and rank >= size:
            continue
        if local is not None or size is not None:
            return _completed(Ranks(rank, local, size), environment)
        # A lone RANK may be anybody's variable, unless torch's other ones stand beside it.
        if any(environment.get(name) for name in _MEETING):
            return _completed(Ranks(rank), environment)
    # Lightning's launcher and DeepSpeed's older ones give only the local rank.
    reported = _first(environment, ("LOCAL_RANK",))
    local = local_rank if reported is None else reported
    if local is None:
        return None
    first_node = _first(environment, ("NODE_RANK", "GROUP_RANK")) == 0
    return Ranks(local if first_node else None, local, _first(environment, ("WORLD_SIZE",)))


def lone_rank(environment: Mapping[str, str]) -> Ranks | None:
    """By ``RANK`` and nothing else, for a process that is known to be a rank of some job."""
    rank = number(environment.get("RANK", ""))
    return None if rank is None else Ranks(rank)


def _completed(found: Ranks, environment: Mapping[str, str]) -> Ranks:
    """What one launcher does not tell, another one around it may: of the same number it is the same rank."""
    for ranks, local_ranks, sizes in _FAMILIES:
        if found.world_size is None and _first(environment, ranks) == found.rank:
            found.world_size = _first(environment, sizes)
            if found.local_rank is None:
                found.local_rank = _first(environment, local_ranks)
    return found


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    """The first of these variables that is a number."""
    for name in names:
        found = number(environment.get(name, ""))
        if found is not None:
            return found
    return None


def number(text: str) -> int | None:
    """A rank or a count, written as one; ``None`` if it is not, or of a size that none can be."""
    plain = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if plain else None
