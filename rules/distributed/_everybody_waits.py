"""Jobs all of whose ranks wait for each other, sorted by the place in the program where they do."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...probes.model.job_frames import JobFrame, RankFrame
from ..rule import Scene
from ._standstill import Look, names_of, standstill


class Deadlock(msgspec.Struct, frozen=True):
    """All ranks of a job on this node wait for others."""

    looks: tuple[Look, ...]
    places: dict[str, tuple[RankFrame, ...]]
    """Where → who, the largest group first; empty where not all stacks are known."""

    @property
    def seconds(self) -> float:
        """For how long all of them have waited."""
        return min(look.seconds for look in self.looks)

    @property
    def differ(self) -> bool:
        """They wait in different places, so that no two calls can ever meet."""
        return len(self.places) > 1

    def odd_one(self) -> RankFrame | None:
        """The rank that is not where the others are, if most agree.

        Of two that disagree it is the one further down in the same function: it has left out a call
        that the other one makes.
        """
        groups = list(self.places.values())
        if len(groups[-1]) > 1:
            return None
        if len(groups) == 2 and len(groups[0]) > 1:
            return next(iter(groups[-1]))
        if len(groups) == 2:
            return max((rank for group in groups for rank in group), key=_line)
        return None

    def words(self) -> str:
        """For people: who waits where."""
        return "; ".join(f"{names_of(ranks)}: {place}" for place, ranks in self.places.items())


def deadlock(job: JobFrame, scene: Scene) -> Deadlock | None:
    """``None`` where any rank does anything else, or may."""
    if len(job.ranks) < 2:
        return None
    still = standstill(job, scene)
    if len(still.waiting) < len(job.ranks):
        return None
    return Deadlock(still.waiting, _places([look.rank for look in still.waiting]))


def _places(ranks: Sequence[RankFrame]) -> dict[str, tuple[RankFrame, ...]]:
    found: dict[str, list[RankFrame]] = {}
    for rank in ranks:
        if rank.place is None:
            return {}
        found.setdefault(f"{rank.place}, {rank.doing}", []).append(rank)
    by_size = sorted(found.items(), key=lambda item: -len(item[1]))
    return {place: tuple(group) for place, group in by_size}


def _line(rank: RankFrame) -> int:
    digits = (rank.place or "").rpartition(":")[2].rstrip(")")
    return int(digits) if digits.isdecimal() else 0
