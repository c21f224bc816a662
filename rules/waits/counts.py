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
                signal="launched_collectives",
                label=f"launched {more} collectives, by {count.counted_by}",
                value=f"{each.name}: {each.launched}, {words} ({count.group})",
            )


def _by_probes(job: JobFrame, frame: Frame) -> Iterator[Count]:
    groups: dict[str, list[tuple[RankFrame, CollectiveReading]]] = {}
    for rank in job.ranks:
        probe = frame.probe(rank.pid, rank.start_time_seconds)
        for each in probe.collectives if probe else ():
            if each.operation not in _PAIRWISE:
                groups.setdefault(each.group, []).append((rank, each))
    launched = {group: _launched(there, job, frame) for group, there in groups.items()}
    if all(len({each.launched for each in members}) == 1 for members in launched.values()):
        # The group's own count has what DDP and FSDP launch, too, but is read now and then only.
        launched = {group: _by_groups_own(there) for group, there in groups.items()}
    for group, members in launched.items():
        if len({each.launched for each in members}) > 1:
            most = max(members, key=lambda each: each.launched)
            last = next((each for rank, each in groups[group] if rank is most.rank), None)
            operation = f", last {last.operation}" if last else ""
            yield Count(f"group {group}{operation}", "the probe", members)


def _launched(
    there: Sequence[tuple[RankFrame, CollectiveReading]], job: JobFrame, frame: Frame
) -> tuple[Member, ...]:
    """With the members that have a probe and have launched nothing in this group yet."""
    found = {rank.pid: Member(_name(rank), rank, each.sequence) for rank, each in there}
    numbers = {number for _, each in there for number in each.ranks}
    for rank in job.ranks:
        probed = frame.probe(rank.pid, rank.start_time_seconds) is not None
        if rank.rank in numbers and rank.pid not in found and probed:
            found[rank.pid] = Member(_name(rank), rank, 0)
    return tuple(found.values())


def _by_groups_own(there: Sequence[tuple[RankFrame, CollectiveReading]]) -> tuple[Member, ...]:
    """Nobody, where not all of them were looked at."""
    return tuple(
        Member(_name(rank), rank, each.group_sequence)
        for rank, each in there
        if each.group_sequence is not None
        and all(other.group_sequence is not None for _, other in there)
    )


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
