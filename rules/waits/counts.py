"""How many collectives each rank has launched in each group: counted by the probes, or by NCCL's RAS.

Sends and receives are no part of it: stages of a pipeline differ by design, and know no majority.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.probe_readings import CollectiveReading
from ..finding import Evidence

_PAIRWISE = frozenset(
    {"send", "recv", "isend", "irecv", "batch_isend_irecv", "send_object_list", "recv_object_list"}
)


class Member(NamedTuple):
    """One rank in one group."""

    name: str
    """``rank 3``, or with the host where that is another one."""
    rank: RankFrame | None
    """Of this node; ``None`` on another."""
    launched: int


class Count(NamedTuple):
    """One group in which the counts differ."""

    group: str
    counted_by: str
    members: tuple[Member, ...]

    @property
    def usual(self) -> int | None:
        """What more than half of them have launched; ``None``: no number has such a majority."""
        number, votes = Counter(each.launched for each in self.members).most_common(1)[0]
        return number if 2 * votes > len(self.members) else None


def differing(job: JobFrame, frame: Frame) -> tuple[Count, ...]:
    """The groups whose members have lost each other; empty where all have launched as many, or
    nobody counts."""
    return tuple(_by_probes(job, frame)) or tuple(_by_ras(job, frame))


def evidence_of(found: Sequence[Count]) -> Iterator[Evidence]:
    """The counts of those that differ from most; of all where there is no majority."""
    for count in found:
        usual, most = count.usual, max(each.launched for each in count.members)
        for each in count.members:
            if each.launched == (most if usual is None else usual):
                continue
            than = most if usual is None else usual
            more = "more" if each.launched > than else "fewer"
            words = f"the most is {than}" if than == most else f"the others have {than}"
            yield Evidence(
                signal=f"launched {more} collectives, by {count.counted_by}",
                value=f"{each.name}: {each.launched}, {words} ({count.group})",
            )


def _by_probes(job: JobFrame, frame: Frame) -> Iterator[Count]:
    groups: dict[str, list[tuple[RankFrame, CollectiveReading]]] = {}
    for rank in job.ranks:
        probe = frame.probe(rank.pid, rank.start_time_seconds)
        for each in probe.collectives if probe else ():
            if each.operation not in _PAIRWISE:
                groups.setdefault(each.group, []).append((rank, each))
    counted = {group: [each.sequence for _, each in there] for group, there in groups.items()}
    if all(len(set(numbers)) == 1 for numbers in counted.values()):
        # The group's own count has what DDP and FSDP launch, too, but is read now and then only.
        own = {group: [each.group_sequence for _, each in there] for group, there in groups.items()}
        counted = {
            group: [number for number in numbers if number is not None]
            for group, numbers in own.items()
            if None not in numbers
        }
    for group, numbers in counted.items():
        there = groups[group]
        there, numbers = _with_absent(there, numbers, job, frame)
        if len(set(numbers)) > 1:
            last = there[numbers.index(max(numbers))][1].operation
            members = [
                Member(_name(rank), rank, number)
                for (rank, _), number in zip(there, numbers, strict=True)
            ]
            yield Count(f"group {group}, last {last}", "the probe", tuple(members))


def _with_absent(
    there: list[tuple[RankFrame, CollectiveReading]],
    numbers: list[int],
    job: JobFrame,
    frame: Frame,
) -> tuple[list[tuple[RankFrame, CollectiveReading]], list[int]]:
    """With the members that have a probe and have launched nothing in this group yet."""
    known = {rank.pid for rank, _ in there}
    members = {number for _, each in there for number in each.ranks}
    absent = [
        rank
        for rank in job.ranks
        if rank.rank in members
        and rank.pid not in known
        and frame.probe(rank.pid, rank.start_time_seconds) is not None
    ]
    more = [(rank, there[0][1]) for rank in absent]
    return [*there, *more], [*numbers, *([0] * len(absent))]


def _by_ras(job: JobFrame, frame: Frame) -> Iterator[Count]:
    ranks = {rank.pid: rank for rank in job.ranks}
    for communicator in frame.communicators:
        if not any(each.pid in ranks for each in communicator.ranks):
            continue
        if len({each.launched for each in communicator.ranks}) < 2:
            continue
        members: list[Member] = []
        for each in communicator.ranks:
            here = ranks.get(each.pid) if each.pid is not None else None
            where = "" if here is not None else f" on {each.host}"
            members.append(Member(f"rank {each.rank}{where}", here, each.launched))
        group = f"communicator {communicator.id} of {communicator.size}"
        yield Count(group, "NCCL RAS", tuple(members))


def _name(rank: RankFrame) -> str:
    return f"rank {rank.rank}" if rank.rank is not None else f"pid {rank.pid}"
