"""For whom ranks wait by the word of a finding, where their own collectives do not tell it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from ..probes.model.job_frames import JobFrame, RankFrame
from .finding import Finding
from .progress import is_overdue
from .waits.ranks import KEPT_WAITING, WAITING_PHASES


def with_attributed_waits(
    ranks: Sequence[RankFrame], job: JobFrame, active: Iterable[Finding]
) -> list[RankFrame]:
    """The same ranks; those whose step is overdue where ranks wait, with whoever keeps them waiting."""
    held_up_by = tuple(sorted(_culprits(job, active)))
    return [
        replace(rank, waits_for=held_up_by) if held_up_by and _waits(rank, held_up_by) else rank
        for rank in ranks
    ]


def _culprits(job: JobFrame, active: Iterable[Finding]) -> Iterator[int]:
    for finding in active:
        subject = finding.subject
        blamed = any(each.signal == KEPT_WAITING for each in finding.evidence)
        if blamed and subject.kind == "rank" and subject.job == job.id and subject.rank is not None:
            yield subject.rank


def _waits(rank: RankFrame, held_up_by: Sequence[int]) -> bool:
    return (
        not rank.waits_for
        and rank.rank not in held_up_by
        and rank.phase in WAITING_PHASES
        and is_overdue(rank)
    )
