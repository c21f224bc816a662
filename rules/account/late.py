"""Waiting for a rank that is late in each step: told apart from communication, inside a backward too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from ...probes.model.job_frames import JobFrame, RankFrame
from ..distributed.straggler import Straggler, waited_for_in_backward
from ..finding import Finding
from .entries import BACKWARD, COMM, COMPUTE, STRAGGLER
from .split import Split


class LateRank(msgspec.Struct, frozen=True):
    """Whom all others of its job wait for."""

    rank: RankFrame
    in_backward: bool
    """DDP's collectives run inside the backward, and so does the waiting."""


def late_rank(job: JobFrame, active: Iterable[Finding]) -> LateRank | None:
    """Where an active finding says so."""
    about = [each for each in active if each.id == Straggler.id and each.subject.job == job.id]
    if not about:
        return None
    number, hidden = about[0].subject.rank, waited_for_in_backward(about, job)
    rank = next((each for each in job.living if each.rank == number), None)
    return None if number is None or rank is None else LateRank(rank, hidden == number)


def waited(rank: RankFrame, late: LateRank | None) -> tuple[float, float]:
    """Shares of the last minute: of the backward, and of communication, that the late rank does not need."""
    if late is None or rank.pid == late.rank.pid:
        return 0.0, 0.0
    own, needed = rank.phases_last_minute, late.rank.phases_last_minute
    backward = _more(own, needed, BACKWARD) if late.in_backward else 0.0
    return backward, _more(own, needed, COMM)


def waits_told(host: Split, rank: RankFrame, late: LateRank | None) -> Split:
    """The split of a rank that its probe tells of, with its waiting for the late one apart."""
    backward, comm = waited(rank, late)
    if not backward and not comm:
        return host
    found = dict(host)
    moved = _taken(found, COMPUTE, backward) + _taken(found, COMM, comm)
    if moved > 0:
        found[STRAGGLER, "inferred"] = moved
    return found


def _taken(split: Split, name: str, share: float) -> float:
    """Taken off an entry, as far as it goes; what is left of it is no measurement any more."""
    has = split.pop((name, "measured"), 0.0)
    taken = min(has, share)
    if has > taken:
        split[name, "inferred" if taken else "measured"] = has - taken
    return taken


def _more(own: Mapping[str, float], needed: Mapping[str, float], phase: str) -> float:
    return max(0.0, own.get(phase, 0.0) - needed.get(phase, 0.0))
