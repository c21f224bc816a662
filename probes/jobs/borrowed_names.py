"""Helpers that have a rank's variables from a shell or from the rank, and are no ranks.

Two ranks of one job never have the same number. Where two processes do, the one that trains has it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from ..model.process_readings import ProcessReading
from .command_line import program_of
from .rank_identity import Identity


def borrowers(
    by_pid: Mapping[int, ProcessReading],
    named: Mapping[int, Identity],
    shows_itself: Callable[[int], bool],
) -> frozenset[int]:
    """Those among the named processes that are not the rank whose name they have."""
    jobs: dict[Hashable, dict[int | None, list[int]]] = {}
    for pid, name in named.items():
        jobs.setdefault(_job(by_pid[pid], name), {}).setdefault(name.rank, []).append(pid)
    found: set[int] = set()
    for ranks in jobs.values():
        for rank, pids in ranks.items():
            if rank is not None and len(pids) > 1:
                fellows = [pid for other, each in ranks.items() if other != rank for pid in each]
                found |= set(pids) - _owners(pids, fellows, by_pid, named, shows_itself)
    return frozenset(found)


def _owners(
    pids: list[int],
    fellows: list[int],
    by_pid: Mapping[int, ProcessReading],
    named: Mapping[int, Identity],
    shows_itself: Callable[[int], bool],
) -> set[int]:
    """Whose name it is; several where they are ranks of as many jobs."""
    showing = [pid for pid in pids if shows_itself(pid)]
    alike = {program_of(by_pid[pid].command) for pid in showing or fellows}
    owners = {pid for pid in pids if program_of(by_pid[pid].command) in alike}
    if showing and named[showing[0]].master:
        return set(showing)  # where they meet there is room for one of that number
    return owners.union(showing) or set(pids)


def _job(process: ProcessReading, name: Identity) -> Hashable:
    """What processes of one job share. One rank alone may be anybody's: then the same shell started them."""
    alone = name.world_size in (None, 1) or not name.master
    return (
        name.world_size,
        name.master,
        process.user,
        process.container_id,
        process.parent_pid if alone else None,
    )
