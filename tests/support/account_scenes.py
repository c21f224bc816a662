"""Accounts of played scripts, by whose they are."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gputop.probes.model.frame import Frame
from gputop.probes.model.job_frames import RankFrame
from gputop.rules.account.minute import shares
from gputop.rules.finding import Account, AccountWindow, Judgement, SubjectKind


def account(
    accounts: tuple[Account, ...], kind: SubjectKind, name: str, window: AccountWindow = "watch"
) -> Account:
    """The only one of that subject; of a rank by its number."""
    found = [
        each
        for each in accounts
        if each.subject.kind == kind
        and each.window == window
        and (str(each.subject.rank) if kind == "rank" else each.subject.id) == name
    ]
    assert len(found) == 1, (kind, name, window, len(found))
    return found[0]


def gpu_shares(judged: Judgement, gpu: int = 0) -> dict[str, float]:
    """Of a GPU, over the whole watch."""
    return shares(account(judged.accounts, "gpu", str(gpu)))


def assert_whole(account: Account) -> None:
    """The entries sum to what was seen, and none is less than nothing."""
    spent = [entry.seconds for entry in account.entries.values()]
    assert min(spent) > 0
    assert sum(spent) == pytest.approx(account.seconds)
    assert sum(shares(account).values()) == pytest.approx(1.0)


def later(frame: Frame, seconds: float, **changes: object) -> Frame:
    """The same some time later."""
    return replace(
        frame,
        time_seconds=frame.time_seconds + seconds,
        monotonic_seconds=frame.monotonic_seconds + seconds,
        **changes,
    )


def with_ranks(frame: Frame, ranks: tuple[RankFrame, ...], name: str | None = None) -> Frame:
    """With other ranks in its one job."""
    (job,) = frame.jobs
    return replace(frame, jobs=(replace(job, id=name or job.id, ranks=ranks),))
