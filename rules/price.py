"""What a finding costs: whose time it takes, so that causes can be put in order by what mending them wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..probes.model.frame import Frame
from ..probes.model.vocabulary import Origin
from .account.book import AccountBook
from .account.minute import worst_of
from .finding import NO_PRICE, Account, Price, Subject, Verdict
from .rule import Rule

Accounts = Mapping[tuple[str, str], Account]
"""Whose → how the time was spent."""

_LEAST_SECONDS = 10.0
"""Of GPUs: of less than that no share is told."""


class Meter:
    """The price of one case over its life."""

    __slots__ = ("_gpu_seconds", "_spent_before", "_whole_before")

    def __init__(self) -> None:
        self._gpu_seconds = 0.0
        self._spent_before: float | None = None
        """Of the entries that it costs, when it was first seen."""
        self._whole_before = 0.0

    def price(
        self, rule: Rule, verdict: Verdict, frame: Frame, seconds: float, book: AccountBook
    ) -> Price:
        """The verdict's own word, else what the account of its subject says.

        Args:
            rule: whose verdict.
            verdict: that holds.
            frame: in which it does.
            seconds: since it held last.
            book: the accounts.
        """
        if verdict.lost_ratio is not None:
            self._gpu_seconds += verdict.lost_ratio * gpus_that_pay(verdict, frame) * seconds
            return Price(
                lost_ratio=verdict.lost_ratio,
                lost_gpu_seconds=self._gpu_seconds,
                origin=verdict.lost_origin,
                basis="rule",
            )
        if rule.costs:
            key = _payer(verdict.subject, rule)
            return self._of_entries(rule.costs, book.minutes.get(key), book.watches.get(key))
        return Price(reason=rule.unpriced) if rule.unpriced else NO_PRICE

    def _of_entries(
        self, names: Sequence[str], minute: Account | None, watch: Account | None
    ) -> Price:
        """The share of the last minute, or since it began where that is less, that went to them."""
        if minute is None or watch is None:
            return Price(reason="where the time of its subject goes was not seen yet")
        spent = _spent(watch, names)
        if self._spent_before is None:
            self._spent_before, self._whole_before = spent, watch.seconds
        # A stall is found out late, and takes what looked like work before with it.
        self._gpu_seconds = max(self._gpu_seconds, spent - self._spent_before)
        since = watch.seconds - self._whole_before
        share = _spent(minute, names) / minute.seconds
        if _LEAST_SECONDS <= since < minute.seconds:
            share = min(1.0, self._gpu_seconds / since)
        return Price(
            lost_ratio=share,
            lost_gpu_seconds=self._gpu_seconds,
            origin=_origin(minute, names),
            basis="account",
        )


def _spent(account: Account, names: Sequence[str]) -> float:
    return sum(account.entries[name].seconds for name in names if name in account.entries)


def _origin(account: Account, names: Sequence[str]) -> Origin:
    return worst_of(account.entries[name].origin for name in names if name in account.entries)


def _payer(subject: Subject, rule: Rule) -> tuple[str, str]:
    """Whose account: of its GPU, where it is about one; else of its job, or of a rank on none."""
    if rule.costs_job and subject.job is not None:
        return ("job", subject.job)
    if subject.gpu is not None and subject.kind in ("gpu", "rank", "process", "link"):
        return ("gpu", str(subject.gpu))
    return subject.key if subject.kind == "rank" else ("job", subject.job or "")


def gpus_that_pay(verdict: Verdict, frame: Frame) -> int:
    """How many GPUs lose the share of time that the verdict tells.

    Of a GPU or a rank it is that one, and those of the ranks that wait for it; of a job, a control group
    or the node all GPUs of the jobs concerned. Ranks without a GPU cost none.
    """
    subject = verdict.subject
    if subject.kind == "gpu":
        return 1
    jobs = [job for job in frame.running if subject.job is None or job.id == subject.job]
    ranks = [rank for job in jobs for rank in job.ranks if rank.gpu_index is not None]
    if subject.rank is not None and subject.kind in ("rank", "process"):
        waiters = verdict.path.waiters if verdict.path else frozenset[int]()
        who = waiters | verdict.payers | {subject.rank}
        return sum(rank.rank in who for rank in ranks)
    return len({rank.gpu_index for rank in ranks})
