"""Steps that do not come: how long ago the last was, whose fault it is, and what the ledger says."""

from __future__ import annotations

import msgspec
import pytest

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.job_frames import RankFrame
from gputop.probes.simulator import SimulatedNode
from gputop.rules.history import STALLED, History
from gputop.rules.progress import is_overdue, overdue_seconds, stuck_ranks

from support.scenarios import HEALTHY

HUNG = 3


def watched(scenario: str, until: int, step: float = 1.0) -> tuple[Frame, History]:
    node = SimulatedNode(scenario, start_time_seconds=1.8e9)
    history, frame = History(), None
    for number in range(int((until + 120) / step) + 1):
        frame = derive(frame, node.sample_at(number * step - 120))
        history.add(frame)
    assert frame is not None
    return frame, history


def share(frame: Frame, history: History, rank: int, signal: str) -> float:
    return history.rank(frame.jobs[0].ranks[rank].pid, signal).mean(60.0) or 0.0


@pytest.mark.parametrize("step", [0.5, 1.0, 2.0])
@pytest.mark.unmeasured
def test_the_hung_rank_is_stalled_and_the_others_wait_for_it(step: float) -> None:
    frame, history = watched("gpu-lost", 60, step)  # the hang began 60 s before 0
    age = overdue_seconds(frame.jobs[0])
    assert age is not None and 110 < age <= 122
    for rank in range(8):
        stalled = share(frame, history, rank, STALLED)
        assert stalled == (1.0 if rank == HUNG else 0.0)
        assert share(frame, history, rank, "phase forward") == 0.0
        assert share(frame, history, rank, "phase comm") == (0.0 if rank == HUNG else 1.0)


def test_ranks_that_wait_for_one_that_died_wait_and_are_not_stalled() -> None:
    """As those do that wait for one that hangs: for whom they wait is known of both."""
    frame, history = watched("rank-exited", 60)
    (job,) = frame.jobs
    assert {rank.waits_for for rank in job.living} == {(5,)}
    for rank in job.living:
        assert history.rank(rank.pid, STALLED).mean(60.0) == 0.0
        assert history.rank(rank.pid, "phase comm").mean(60.0) == 1.0


def test_ranks_that_all_wait_for_nobody_that_is_known_are_stalled() -> None:
    frame, _ = watched("rank-exited", 60)
    (job,) = frame.jobs
    ranks = tuple(msgspec.structs.replace(rank, waits_for=()) for rank in job.ranks)
    frame = msgspec.structs.replace(frame, jobs=(msgspec.structs.replace(job, ranks=ranks),))
    assert len(stuck_ranks(frame, lambda _rank: 1.0)) == len(job.living)


def test_a_stall_counts_from_the_last_step_on() -> None:
    frame, history = watched("gpu-lost", -30)
    assert 0.40 < share(frame, history, HUNG, STALLED) < 0.55


@pytest.mark.parametrize("scenario", [*HEALTHY, "input-bound", "straggler", "outlier-steps"])
@pytest.mark.unmeasured
def test_a_job_that_goes_on_is_never_overdue(scenario: str) -> None:
    node = SimulatedNode(scenario, start_time_seconds=1.8e9)
    frame = None
    for second in range(-120, 60, 2):
        frame = derive(frame, node.sample_at(second))
        assert all(overdue_seconds(job) is None for job in frame.jobs), second


def test_who_waits_for_a_cell_or_a_request_is_never_late() -> None:
    node = SimulatedNode("gpu-lost", start_time_seconds=1.8e9)
    frame = derive(None, node.sample_at(60.0))
    assert overdue_seconds(frame.jobs[0]) is not None
    assert [rank.rank for rank in stuck_ranks(frame, lambda _rank: 1.0)] == [HUNG]
    (job,) = frame.jobs
    ranks = tuple(msgspec.structs.replace(rank, phase="idle") for rank in job.ranks)
    frame = msgspec.structs.replace(frame, jobs=(msgspec.structs.replace(job, ranks=ranks),))
    assert overdue_seconds(frame.jobs[0]) is None
    assert stuck_ranks(frame, lambda _rank: 1.0) == []


def test_a_step_is_as_old_as_its_phase_when_it_is_first_seen() -> None:
    node = SimulatedNode("gpu-lost", start_time_seconds=1.8e9)
    frame = derive(None, node.sample_at(0.0))
    age = frame.jobs[0].ranks[HUNG].step_age_seconds
    assert age is not None and age > 50


def test_what_was_saved_or_evaluated_in_a_step_makes_it_no_later() -> None:
    node = SimulatedNode("evaluations", start_time_seconds=1.8e9)
    frame: Frame | None = None
    ended: list[RankFrame] = []
    for second in range(-120, 60):
        before, frame = frame, derive(frame, node.sample_at(second))
        if before is None:
            continue
        (old, *_), (new, *_) = before.jobs[0].ranks, frame.jobs[0].ranks
        if old.phase == "eval" and new.phase != "eval":
            ended.append(new)
    late = [
        each
        for each in ended
        if (each.step_age_seconds or 0.0) > 2 + 3 * (each.step_p50_seconds or 0.0)
    ]
    assert late and not any(map(is_overdue, late))
    stuck = msgspec.structs.replace(late[0], step_age_seconds=late[0].long_phase_seconds + 30.0)
    assert is_overdue(stuck)
