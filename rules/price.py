"""What a finding costs: whose time it takes, so that causes can be put in order by what mending them wins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..probes.model.frame import Frame
from ..probes.model.vocabulary import Origin
from .finding import NO_PRICE, Account, Price, Subject, Verdict
from .rule import Rule

Minutes = Mapping[tuple[str, str], Account]
"""Whose last minute → how it was spent."""

_WORST_LAST: tuple[Origin, ...] = ("measured", "sampled", "inferred")


def price_of(rule: Rule, verdict: Verdict, minutes: Minutes) -> Price:
    """The price of this moment: the verdict's own word, else what the account of its subject says.

    Args:
        rule: whose verdict.
        verdict: that holds.
        minutes: accounts of the last minute.
    """
    if verdict.lost_ratio is not None:
        return Price(lost_ratio=verdict.lost_ratio, origin=verdict.lost_origin, basis="rule")
    if rule.costs:
        subject = _job_subject(verdict.subject) if rule.costs_job else verdict.subject
        return entry_price(rule.costs, subject, minutes)
    return Price(reason=rule.unpriced) if rule.unpriced else NO_PRICE


def entry_price(names: Iterable[str], subject: Subject, minutes: Minutes) -> Price:
    """The share of its subject's last minute that went to these entries."""
    account = _account_of(subject, minutes)
    if account is None:
        return Price(reason="where the time of its subject goes was not seen yet")
    found = [account.entries[name] for name in names if name in account.entries]
    worst = max((_WORST_LAST.index(entry.origin) for entry in found), default=0)
    return Price(
        lost_ratio=sum(entry.seconds for entry in found) / account.seconds,
        origin=_WORST_LAST[worst],
        basis="account",
    )


def _account_of(subject: Subject, minutes: Minutes) -> Account | None:
    """Of its GPU, where it is about one; else of its job, and of itself where it is a rank on none."""
    if _on_one_gpu(subject):
        return minutes.get(("gpu", str(subject.gpu)))
    if subject.kind == "rank":
        return minutes.get(subject.key)
    return minutes.get(("job", subject.job or ""))


def _on_one_gpu(subject: Subject) -> bool:
    return subject.gpu is not None and subject.kind in ("gpu", "rank", "process", "link")


def _job_subject(subject: Subject) -> Subject:
    """The job that it belongs to, where it does."""
    if subject.job is None:
        return subject
    return Subject(kind="job", id=subject.job, job=subject.job)


def gpus_that_pay(rule: Rule, verdict: Verdict, frame: Frame) -> int:
    """How many GPUs lose the share of time that the verdict tells.

    Of a GPU or a rank it is that one, and those of the ranks that wait for it; of a job, a control group
    or the node all GPUs of the jobs concerned. Ranks without a GPU cost none.
    """
    by_account = verdict.lost_ratio is None
    subject = _job_subject(verdict.subject) if by_account and rule.costs_job else verdict.subject
    if subject.kind == "gpu" or (by_account and _on_one_gpu(subject)):
        return 1
    jobs = [job for job in frame.running if subject.job is None or job.id == subject.job]
    ranks = [rank for job in jobs for rank in job.ranks if rank.gpu_index is not None]
    if subject.rank is not None and subject.kind in ("rank", "process"):
        waiters = verdict.path.waiters if verdict.path else frozenset[int]()
        who = waiters | verdict.payers | {subject.rank}
        return sum(rank.rank in who for rank in ranks)
    return len({rank.gpu_index for rank in ranks})
