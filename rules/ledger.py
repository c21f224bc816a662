"""Where the last minute of each rank went: its seconds by what they were spent on, and how that is known.

The shares are the probe's own. What findings say of them is taken in: time in which a rank was stuck is
lost, whatever it was stuck in, and waiting that a backward hides is communication.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from ..probes.jobs.job_labels import job_labels
from ..probes.model.frame import Frame
from ..probes.model.job_frames import RankFrame
from ..probes.model.vocabulary import Origin
from .finding import Account, Entry, Finding
from .hidden_waits import BACKWARD, COMM, hidden_wait, late_rank
from .history import STALLED, History
from .waits.ranks import rank_subject

MINUTE_SECONDS = 60.0
COMPUTE = "compute"
STALLED_ENTRY = "stalled"
_KEPT_SECONDS = 2.0
_YOUNG_SECONDS = 10.0
"""Until then a mean over what was seen so far still moves."""
_BEST_FIRST: tuple[Origin, ...] = ("measured", "sampled", "inferred")
_COMPUTE_PHASES = ("forward", "backward", "optimizer")


class Ledger:
    """The accounts of the newest frame. A mean over a minute is worked out anew every other second only."""

    def __init__(self) -> None:
        self._of: tuple[object, ...] = ()
        self._accounts: tuple[Account, ...] = ()

    def accounts(
        self, frame: Frame, history: History, active: Sequence[Finding]
    ) -> tuple[Account, ...]:
        """As `accounts`; those of a moment ago where they are of the same ranks in the same trouble."""
        late = tuple(late_rank(job, active) for job in frame.jobs)
        of = (
            int(frame.monotonic_seconds // _KEPT_SECONDS),
            [rank.pid for job in frame.jobs for rank in job.living],
            [rank and rank.pid for rank in late],
        )
        if of != self._of or history.seconds() < _YOUNG_SECONDS:
            self._of = of
            self._accounts = accounts(frame, history, active)
        return self._accounts


def accounts(frame: Frame, history: History, active: Sequence[Finding]) -> tuple[Account, ...]:
    """One for each rank that reports its phases.

    Args:
        frame: whose ranks.
        history: up to that frame.
        active: the findings of that frame that count.
    """
    return tuple(_accounts(frame, history, active))


def covered_seconds(found: Sequence[Account]) -> float:
    """How much of the minute was seen."""
    return max((account.seconds for account in found), default=0.0)


def origin(account: Account) -> Origin:
    """How it is known as a whole: no better than the worst of its entries."""
    present = [_BEST_FIRST.index(entry.origin) for entry in account.entries.values()]
    return _BEST_FIRST[max(present, default=0)]


def shares(account: Account) -> dict[str, float]:
    """Of the time that was seen; they sum to 1."""
    return {name: entry.seconds / account.seconds for name, entry in account.entries.items()}


def _accounts(frame: Frame, history: History, active: Sequence[Finding]) -> Iterator[Account]:
    labels = job_labels(frame.jobs)
    for job in frame.jobs:
        living = job.living
        late = late_rank(job, active)
        for rank in living:
            seconds = rank.last_minute_seconds
            if rank.phases_last_minute and seconds > 0:
                waited = hidden_wait(rank, late)
                entries = _entries(_spent(rank, waited, history), seconds, inferred=waited > 0)
                subject = replace(rank_subject(job, rank), job_label=labels.get(job.id))
                yield Account(subject=subject, pid=rank.pid, seconds=seconds, entries=entries)


def _spent(rank: RankFrame, waited: float, history: History) -> dict[str, float]:
    """Share of the time in each phase, with what it hides or is lost in apart."""
    spent = dict(rank.phases_last_minute)
    if waited > 0:
        spent[BACKWARD] -= waited
        spent[COMM] = spent.get(COMM, 0.0) + waited
    stalled = history.rank(rank.pid, STALLED).mean(MINUTE_SECONDS) or 0.0
    if stalled > 0:
        # Lost is lost, whatever it was stuck in: the phase now or, where that is over, the longest one.
        stuck_in = rank.phase or ""
        if spent.get(stuck_in, 0.0) < stalled:
            stuck_in = max(spent, key=lambda phase: spent[phase])
        lost = min(stalled, spent[stuck_in])
        spent[stuck_in] -= lost
        spent[STALLED_ENTRY] = spent.get(STALLED_ENTRY, 0.0) + lost
    return spent


def _entries(spent: Mapping[str, float], seconds: float, *, inferred: bool) -> dict[str, Entry]:
    """By name; the phases in which the model is computed are one.

    Args:
        spent: share of each phase.
        seconds: that the shares are of.
        inferred: what the backward hides was taken out of it, and so neither part is measured.
    """
    found: dict[str, float] = {}
    for phase, share in spent.items():
        name = COMPUTE if phase in _COMPUTE_PHASES else phase
        found[name] = found.get(name, 0.0) + share
    moved = (COMPUTE, COMM) if inferred else ()
    return {
        name: Entry(seconds=share * seconds, origin=_origin(name in moved))
        for name, share in found.items()
        if share > 0
    }


def _origin(moved: bool) -> Origin:
    return "inferred" if moved else "measured"
