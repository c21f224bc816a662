"""Ranks in words."""

from __future__ import annotations

from collections.abc import Sequence

from ...probes.model.job_frames import RankFrame
from .finding_words import runs_text

STOPPED = "STOPPED"
"""What is said of one that the kernel does not let run: that its phase grows old is no news then."""


ORIGINS = {"measured": "probe", "sampled": "stacks", "inferred": "threads"}


def who(ranks: Sequence[int | None], pids: Sequence[int]) -> str:
    """``rank 3``, ``7 ranks 0-2,4-7``, ``pid 812``."""
    numbers = [rank for rank in ranks if rank is not None]
    if len(numbers) < len(ranks):
        return f"pid {pids[0]}" if len(pids) == 1 else f"{len(pids)} processes"
    return (
        f"rank {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} ranks {runs_text(numbers)}"
    )


def name_of_rank(rank: RankFrame) -> str:
    """``r3``; ``r?`` for one of unknown number."""
    return number_text(rank.rank)


def number_text(rank: int | None) -> str:
    """``r3``, ``r?``."""
    return "r?" if rank is None else f"r{rank}"


def exact_name(rank: RankFrame) -> str:
    """As `name_of_rank`, with the pid where that alone tells which one it is."""
    return f"r? (pid {rank.pid})" if rank.rank is None else f"r{rank.rank}"


def ranks_text(ranks: Sequence[int]) -> str:
    """``r0-2,4``."""
    return f"r{runs_text(ranks)}"
