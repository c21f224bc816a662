"""Which ranks of a job are in sight where there is not room for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ...probes.model.job_frames import JobFrame, RankFrame
from ...rules.finding import Finding
from ..drawing.target import rank_target
from ..session.view import View, window
from .rank_table import long_waits


def ranks_in_sight(
    view: View, job: JobFrame, ranks: Sequence[RankFrame], rows: int
) -> Sequence[RankFrame]:
    """As many as fit: around the selected one, else those out of the ordinary before the others."""
    rows = max(0, rows)
    if len(ranks) <= rows:
        return ranks
    chosen = next((at for at, rank in enumerate(ranks) if rank_target(rank) == view.selected), None)
    if chosen is not None:
        first = window(len(ranks), rows, chosen)
        return ranks[first : first + rows]
    waited = Counter(other for rank in ranks for other in long_waits(rank))
    named = _named(view.judgement.active, job)
    return sorted(ranks, key=lambda rank: _oddness(rank, waited, named))[:rows]


def count_in_sight(shown: int, whole: int) -> str:
    """``4 of 8``; empty where all are shown."""
    return f"{shown} of {whole}" if shown < whole else ""


def _named(findings: Sequence[Finding], job: JobFrame) -> dict[int, int]:
    """The place, among the findings that no other explains, of the first about a rank or its GPU."""
    on_gpu = {rank.gpu_index: rank.pid for rank in job.living}
    numbered = {rank.rank: rank.pid for rank in job.ranks}
    found: dict[int, int] = {}
    for place, finding in enumerate(findings):
        subject = finding.subject
        if finding.explained_by is not None or subject.job not in (None, job.id):
            continue
        pid = None
        if subject.rank is not None and subject.job is not None:
            pid = numbered.get(subject.rank)
        elif subject.gpu is not None:
            pid = on_gpu.get(subject.gpu)
        if pid is not None:
            found.setdefault(pid, place)
    return found


def _oddness(
    rank: RankFrame, waited: Mapping[int, int], named: Mapping[int, int]
) -> tuple[bool, float, int]:
    """First the dead and the stopped, then those that a finding names, then those that most others wait for."""
    waiting = 0 if rank.rank is None else waited.get(rank.rank, 0)
    lives = rank.ended_age_seconds is None and not rank.stopped
    return (lives, named.get(rank.pid, float("inf")), -waiting)
