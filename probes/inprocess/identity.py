"""Who this process is: the facts that are known from its first moment."""

from __future__ import annotations

import os
import sys

_RANK = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
_LOCAL_RANK = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")
_WORLD_SIZE = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")


def identity() -> dict[str, object]:
    """Facts for the page. Unknown is ``None``."""
    script = sys.argv[0] if getattr(sys, "argv", None) else ""
    return {
        "rank": _number(_RANK),
        "local_rank": _number(_LOCAL_RANK),
        "world_size": _number(_WORLD_SIZE),
        "job_name": os.path.basename(script)[:128] or None,
        "python": ".".join(map(str, sys.version_info[:3])),
        "executable": sys.executable,
    }


def _number(names: tuple[str, ...]) -> int | None:
    for name in names:
        value = os.environ.get(name, "")
        if value.isdecimal():
            return int(value)
    return None
