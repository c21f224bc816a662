"""What grows over the life of a server: each step counted once, and the ledger in seconds."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from ....probes.model.frame import Frame
from ....probes.model.job_frames import RankFrame
from ....probes.model.reading import Key, key_of
from ....rules.finding import Account, Judgement

BUCKETS = (0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 600.0)
"""Seconds. Steps of training take from some hundredths of a second to minutes."""
_SYNC = "comm"
_KEPT_SECONDS = 600.0
"""What has not been seen for so long is given back, and the longest gone where there are many."""
_MOST = 512
_LONGEST_GAP_SECONDS = 10.0
"""Of a longer time without a frame the ledger says nothing."""


@dataclass
class Histogram:
    """Of durations."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    total: float = 0.0

    @property
    def count(self) -> int:
        return sum(self.counts)

    def add(self, seconds: float) -> None:
        """One more."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds

    def cumulative(self) -> list[float]:
        """How many are at most each limit."""
        found: list[float] = []
        so_far = 0
        for count in self.counts:
            so_far += count
            found.append(float(so_far))
        return found


@dataclass
class RankTotal:
    """Of one training process."""

    steps: Histogram = field(default_factory=Histogram)
    grad_sync: Histogram = field(default_factory=Histogram)
    ledger: dict[str, float] = field(default_factory=dict[str, float])
    last_step: int | None = None
    seen_seconds: float = 0.0


class Totals:
    """Of all ranks that were seen within the last ten minutes."""

    def __init__(self) -> None:
        self._of: dict[Key, RankTotal] = {}
        self._last_seconds: float | None = None

    def of(self, rank: RankFrame) -> RankTotal | None:
        """Of that process, if it was seen."""
        return self._of.get(key_of(rank))

    def add(self, judgement: Judgement) -> None:
        """Take up what is new in it."""
        frame = judgement.frame
        now = frame.monotonic_seconds
        passed = 0.0 if self._last_seconds is None else now - self._last_seconds
        self._last_seconds = now
        accounts = {account.pid: account for account in judgement.minutes}
        for job in frame.running:
            for rank in job.ranks:
                total = self._of.setdefault(key_of(rank), RankTotal())
                total.seen_seconds = now
                _add_steps(total, rank, frame)
                if 0 < passed <= _LONGEST_GAP_SECONDS:
                    _add_ledger(total, accounts.get(rank.pid), passed)
        old = [
            key
            for key, each in self._of.items()
            if not 0 <= now - each.seen_seconds < _KEPT_SECONDS
        ]
        for key in old:
            del self._of[key]
        if len(self._of) > _MOST:
            gone = [key for key, each in self._of.items() if each.seen_seconds < now]
            gone.sort(key=lambda key: self._of[key].seen_seconds)
            for key in gone[: len(self._of) - _MOST]:
                del self._of[key]


def _add_steps(total: RankTotal, rank: RankFrame, frame: Frame) -> None:
    past = frame.rank_history(rank.pid, rank.start_time_seconds)
    steps = past.steps if past else ()
    if not steps:
        return
    if total.last_step is not None and steps[-1].number < total.last_step:
        total.last_step = None  # the probe was started anew
    if total.last_step is None:
        total.last_step = steps[-1].number  # what was before this server is not counted
        return
    for step in steps:
        if step.number > total.last_step:
            total.steps.add(step.seconds)
            total.grad_sync.add(step.phases.get(_SYNC, 0.0))
    total.last_step = steps[-1].number


def _add_ledger(total: RankTotal, account: Account | None, passed: float) -> None:
    whole = sum(entry.seconds for entry in account.entries.values()) if account else 0.0
    if account is None or whole <= 0:
        return
    for name, entry in account.entries.items():
        total.ledger[name] = total.ledger.get(name, 0.0) + passed * entry.seconds / whole
