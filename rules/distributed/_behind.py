"""Who has launched fewer collectives than the others: counted by the probes, or by NCCL's RAS."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.probe_readings import CollectiveReading
from ..finding import Evidence


class Behind(NamedTuple):
    """One rank and its count, beside the most that another has."""

    name: str
    """``rank 3``, or with the host where that is another one."""
    rank: RankFrame | None
    """Of this node; ``None`` on another."""
    launched: int
    most: int
    group: str
    assigned_by: str


def behind(job: JobFrame, frame: Frame) -> tuple[Behind, ...]:
    """Those that are behind; empty where all have launched as many, or nobody counts."""
    return tuple(_by_probes(job, frame)) or tuple(_by_ras(job, frame))


def odd_one(found: Sequence[Behind]) -> RankFrame | None:
    """The one rank that keeps the others waiting, if it is of this node and alone."""
    names = {each.name for each in found}
    return found[0].rank if len(names) == 1 else None


def evidence_of(found: Sequence[Behind]) -> Iterator[Evidence]:
    """The counts."""
    for each in found:
        words = f"{each.name}: {each.launched}, the most is {each.most} ({each.group})"
        yield Evidence(signal=f"launched fewer collectives, by {each.assigned_by}", value=words)


def _by_probes(job: JobFrame, frame: Frame) -> Iterator[Behind]:
    counts: dict[str, list[tuple[RankFrame, CollectiveReading]]] = {}
    for rank in job.ranks:
        probe = frame.probe(rank.pid, rank.start_time_seconds)
        for each in probe.collectives if probe else ():
            counts.setdefault(each.group, []).append((rank, each))
    for group, members in counts.items():
        # The group's own count has what DDP and FSDP launch, too, but is read now and then only.
        own = [each.group_sequence for _, each in members]
        numbers = [each.sequence for _, each in members]
        if None not in own and numbers.count(numbers[0]) == len(numbers):
            numbers = [number for number in own if number is not None]
        most = max(numbers)
        for (rank, each), number in zip(members, numbers, strict=True):
            if number < most:
                name = f"rank {rank.rank}" if rank.rank is not None else f"pid {rank.pid}"
                what = f"group {group}, last {each.operation}"
                yield Behind(name, rank, number, most, what, "the probe")


def _by_ras(job: JobFrame, frame: Frame) -> Iterator[Behind]:
    ranks = {rank.pid: rank for rank in job.ranks}
    for communicator in frame.communicators:
        if not any(each.pid in ranks for each in communicator.ranks):
            continue
        most = max(each.launched for each in communicator.ranks)
        for each in communicator.ranks:
            if each.launched < most:
                here = ranks.get(each.pid) if each.pid is not None else None
                where = "" if here is not None else f" on {each.host}"
                group = f"communicator {communicator.id} of {communicator.size}"
                name = f"rank {each.rank}{where}"
                yield Behind(name, here, each.launched, most, group, "NCCL RAS")
