"""Where the last minute of each rank went: entries that sum to what was seen, each with its origin."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gputop.probes.model.job_frames import RankFrame
from gputop.rules.account.book import AccountBook
from gputop.rules.account.minute import covered_seconds, minutes, origin, shares
from gputop.rules.finding import Account, Evidence, Finding, Judgement
from gputop.rules.history import History

from support.tui_watch import played

SCENARIOS = ["healthy", "input-bound", "straggler", "rank-exited", "gpu-lost"]


def again(
    judged: Judgement, scenario: str, findings: tuple[Finding, ...] | None = None
) -> dict[int | None, Account]:
    """The accounts, by rank."""
    active = [
        each
        for each in (judged.findings if findings is None else findings)
        if each.state == "active"
    ]
    found = minutes(judged.frame, played(scenario)[2], active)
    return {account.subject.rank: account for account in found}


def hidden(judged: Judgement) -> tuple[Judgement, tuple[Finding, ...]]:
    """The same job where the collectives run inside the backward, as DDP's do."""
    (job,) = judged.frame.jobs

    def inside(rank: RankFrame) -> RankFrame:
        spent = dict(rank.phases_last_minute)
        spent["backward"] += spent.pop("comm", 0.0)
        return replace(rank, phases_last_minute=spent)

    findings = tuple(
        replace(
            finding, evidence=(Evidence(signal="in_collectives_and_backward_ratio", value=0.5),)
        )
        if finding.id == "RUN407"
        else finding
        for finding in judged.findings
    )
    job = replace(job, ranks=tuple(map(inside, job.ranks)))
    return replace(judged, frame=replace(judged.frame, jobs=(job,))), findings


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_entries_of_an_account_sum_to_what_was_seen(scenario: str) -> None:
    judged = played(scenario)[1]
    living = [rank for job in judged.frame.jobs for rank in job.living]
    assert {each.pid for each in judged.minutes} == {
        rank.pid for rank in living if rank.phases_last_minute
    }
    for account in judged.minutes:
        spent = sum(entry.seconds for entry in account.entries.values())
        assert spent == pytest.approx(account.seconds)
        assert sum(shares(account).values()) == pytest.approx(1.0)
        assert 50 < account.seconds <= 62
    assert covered_seconds(judged.minutes) <= 62


def test_a_job_that_waits_for_data_loses_its_time_to_data() -> None:
    (first, *_) = played("input-bound")[1].minutes
    healthy = played("healthy")[1].minutes[0]
    assert shares(first)["data"] > 0.3
    assert shares(healthy)["data"] < 0.1


def test_the_time_of_a_stuck_rank_is_lost_and_the_others_wait_for_it() -> None:
    spent = {each.subject.rank: shares(each) for each in played("gpu-lost")[1].minutes}
    assert spent.pop(3) == {"stalled": pytest.approx(1.0)}
    assert all("stalled" not in each and each["wait"] > 0.9 for each in spent.values())


def test_waiting_inside_the_backward_is_not_reported_as_work() -> None:
    judged = played("straggler")[0]
    inside = again(*_args(hidden(judged)))
    plain = again(judged, "straggler")
    assert inside.keys() == plain.keys()
    for rank, account in inside.items():
        for name in ("compute", "wait", "data"):
            assert shares(account).get(name, 0.0) == pytest.approx(
                shares(plain[rank]).get(name, 0.0), abs=0.03
            )
        assert origin(account) == ("measured" if rank == 3 else "inferred")
        assert account.entries["data"].origin == "measured"
    assert {entry.origin for entry in inside[0].entries.values()} == {"measured", "inferred"}


def test_without_that_finding_the_backward_is_reported_as_it_is() -> None:
    judged, _ = hidden(played("straggler")[0])
    found = again(judged, "straggler", ())
    assert all("wait" not in account.entries for account in found.values())
    assert {origin(account) for account in found.values()} == {"measured"}


def test_a_minute_is_worked_out_every_other_second_and_when_its_ranks_change() -> None:
    judged, _, history = played("straggler")
    book, frame = AccountBook(), judged.frame
    first = book.accounts(frame, history, judged.active)
    assert first == minutes(frame, history, judged.active) != ()
    (job,) = frame.jobs
    rank = replace(job.ranks[0], phases_last_minute={"data": 1.0})
    other = replace(frame, jobs=(replace(job, ranks=(rank, *job.ranks[1:])),))
    assert book.accounts(other, history, judged.active) is first
    later = replace(other, monotonic_seconds=frame.monotonic_seconds + 2.0)
    assert shares(book.accounts(later, history, judged.active)[0]) == {"data": 1.0}
    alone = replace(frame, jobs=(replace(job, ranks=(rank,)),))
    found = book.accounts(alone, history, judged.active)
    assert len([each for each in found if each.window == "last minute" and each.pid]) == 1


def test_a_young_watch_gets_its_newest_accounts() -> None:
    judged = played("straggler")[0]
    book, history = AccountBook(), History()
    first = book.accounts(judged.frame, history, judged.active)
    assert book.accounts(judged.frame, history, judged.active) is not first


def _args(
    changed: tuple[Judgement, tuple[Finding, ...]],
) -> tuple[Judgement, str, tuple[Finding, ...]]:
    judged, findings = changed
    return judged, "straggler", findings
