"""Where the last minute of each rank with a probe went, at once: its page remembers more than was watched.

What findings say of it is taken in: time in which a rank was stuck is lost, whatever it was stuck in, and
waiting for a late rank is no communication and no backward.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...probes.model.frame import Frame
from ...probes.model.job_frames import RankFrame
from ...probes.model.vocabulary import Origin
from ..finding import Account, Finding
from ..history import STALLED as STALLED_SIGNAL
from ..history import History
from ..progress import is_overdue
from ..waits.ranks import rank_subject
from .entries import COMM, STALLED, STRAGGLER, entry_of_phase
from .late import late_rank, waits_told
from .split import Split, by_entry
from .track import MINUTE_SECONDS, entries_of

_BEST_FIRST: tuple[Origin, ...] = ("measured", "sampled", "inferred")


def minutes(frame: Frame, history: History, active: Sequence[Finding]) -> tuple[Account, ...]:
    """One for each rank that reports its phases.

    Args:
        frame: whose ranks.
        history: up to that frame.
        active: the findings of that frame that count.
    """
    return tuple(_minutes(frame, history, active))


def covered_seconds(found: Sequence[Account]) -> float:
    """How much of the minute was seen."""
    return max((account.seconds for account in found), default=0.0)


def origin(account: Account) -> Origin:
    """How it is known as a whole: no better than the worst of its entries."""
    return worst_of(entry.origin for entry in account.entries.values())


def worst_of(origins: Iterable[Origin]) -> Origin:
    """What is made from several is known no better than the worst of them."""
    return _BEST_FIRST[max(map(_BEST_FIRST.index, origins), default=0)]


def shares(account: Account) -> dict[str, float]:
    """Of the time that was seen; they sum to 1."""
    return {name: entry.seconds / account.seconds for name, entry in account.entries.items()}


def _minutes(frame: Frame, history: History, active: Sequence[Finding]) -> Iterator[Account]:
    for job in frame.jobs:
        late = late_rank(job, active)
        for rank in job.living:
            seconds = rank.last_minute_seconds
            split = by_entry(rank.phases_last_minute, "measured")
            if split and seconds > 0:
                split = _lost_told(waits_told(split, rank, late), rank, history)
                spent = {key: share * seconds for key, share in split.items()}
                yield Account(
                    subject=rank_subject(job, rank),
                    pid=rank.pid,
                    seconds=seconds,
                    entries=entries_of(spent),
                )


def _lost_told(split: Split, rank: RankFrame, history: History) -> Split:
    """Lost is lost, whatever it was stuck in: the phase now or, where that is over, the longest one."""
    split = dict(split)
    if rank.waits_for and is_overdue(rank):
        waits = min(1.0, (rank.step_age_seconds or 0.0) / MINUTE_SECONDS)
        _move(split, (COMM, "measured"), (STRAGGLER, "inferred"), waits)
    stalled = history.rank(rank.pid, STALLED_SIGNAL).mean(MINUTE_SECONDS) or 0.0
    if stalled > 0:
        stuck_in: tuple[str, Origin] = (entry_of_phase(rank.phase or ""), "measured")
        if split.get(stuck_in, 0.0) < stalled:
            stuck_in = max(split, key=lambda key: split[key])
        _move(split, stuck_in, (STALLED, "measured"), stalled)
    return split


def _move(split: Split, source: tuple[str, Origin], to: tuple[str, Origin], share: float) -> None:
    moved = min(split.get(source, 0.0), share)
    if moved > 0:
        split[source] -= moved
        split[to] = split.get(to, 0.0) + moved
