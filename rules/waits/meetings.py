"""In which meeting each rank waits: told by counts of collectives, else by the place in the program.

Until something tells them apart, all that wait are in one meeting: "wherever ranks wait for each other".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame, RankFrame
from ..rule import Scene
from .counts import Count, differing
from .graph import Key
from .motion import Movement

TOGETHER = Key("meeting", "together")
RENDEZVOUS = Key("meeting", "rendezvous")


class Meetings(msgspec.Struct, frozen=True):
    """Who waits where."""

    of: Mapping[int, Key]
    """Pid → meeting."""
    strangers: Mapping[Key, tuple[str, ...]] = {}
    """Ranks of other nodes that count in them: meeting → names."""
    counts: tuple[Count, ...] = ()
    """What tells them apart, as the next one."""
    places: Mapping[str, tuple[RankFrame, ...]] = {}
    """Where → who, the largest group first; empty where not all stacks are known."""
    strength: float = 0.7


def meetings(job: JobFrame, waiting: Sequence[Movement], scene: Scene) -> Meetings:
    """Sort those that wait."""
    ranks = [each.rank for each in waiting]
    if any(each.witness.rendezvous for each in waiting):
        return _rendezvous(waiting)
    everybody = len(ranks) == len(job.ranks) > 1
    together = {rank.pid: TOGETHER for rank in ranks}
    if not everybody:
        return Meetings(together, strength=_strength(ranks))
    counts, places = differing(job, scene.frame), _places(ranks)
    if counts:
        return Meetings(*_by_counts(ranks, counts), counts, places, 1.0)
    operations = _operations(ranks, scene.frame)
    if operations:
        return Meetings(operations, places=places, strength=0.9)
    if len(places) > 1:
        found = {rank.pid: Key("meeting", at) for at, there in places.items() for rank in there}
        return Meetings(found, places=places, strength=_strength(ranks))
    return Meetings(together, places=places, strength=0.8 if places else 0.5)


def _rendezvous(waiting: Sequence[Movement]) -> Meetings:
    """Before the process group exists there is nothing else to wait in."""
    found = {each.rank.pid: RENDEZVOUS if each.witness.rendezvous else TOGETHER for each in waiting}
    return Meetings(found, strength=0.9)


def _by_counts(
    ranks: Sequence[RankFrame], counts: Iterable[Count]
) -> tuple[Mapping[int, Key], Mapping[Key, tuple[str, ...]]]:
    """Whoever has launched as many in all groups is in one meeting."""
    numbers: dict[int, list[str]] = {rank.pid: [] for rank in ranks}
    afar: dict[str, list[str]] = {}
    for count in counts:
        for each in count.members:
            mark = f"{count.group}: {each.launched}"
            if each.rank is None:
                afar.setdefault(each.name, []).append(mark)
            elif each.rank.pid in numbers:
                numbers[each.rank.pid].append(mark)
    found = {pid: Key("meeting", "; ".join(marks)) for pid, marks in numbers.items()}
    strangers: dict[Key, tuple[str, ...]] = {}
    for name, marks in afar.items():
        key = Key("meeting", "; ".join(marks))
        strangers[key] = (*strangers.get(key, ()), name)
    return found, strangers


def _operations(ranks: Sequence[RankFrame], frame: Frame) -> dict[int, Key]:
    """Where all are inside a collective by their pages, but not inside the same."""
    found: dict[int, Key] = {}
    for rank in ranks:
        probe = frame.probe(rank.pid, rank.start_time_seconds)
        inside = [
            each
            for each in (probe.collectives if probe else ())
            if each.in_flight_monotonic_seconds is not None and each.host_waits
        ]
        if len(inside) != 1:
            return {}
        found[rank.pid] = Key("meeting", f"{inside[0].operation} in group {inside[0].group}")
    return found if len(set(found.values())) > 1 else {}


def _places(ranks: Sequence[RankFrame]) -> dict[str, tuple[RankFrame, ...]]:
    found: dict[str, list[RankFrame]] = {}
    for rank in ranks:
        if rank.place is None:
            return {}
        found.setdefault(f"{rank.place}, {rank.doing}", []).append(rank)
    by_size = sorted(found.items(), key=lambda item: -len(item[1]))
    return {place: tuple(group) for place, group in by_size}


def _strength(ranks: Sequence[RankFrame]) -> float:
    """A page is sure, three dumps of a stack nearly, one is a guess, and a wait channel half of one."""
    return min((_sure(rank) for rank in ranks), default=1.0)


def _sure(rank: RankFrame) -> float:
    if rank.phase_source == "measured":
        return 1.0
    if rank.phase_source == "sampled":
        return 0.9 if (rank.phase_dumps or 0) > 1 else 0.5
    return 0.7
