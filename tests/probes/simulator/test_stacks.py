"""Stacks of the simulated ranks: only when asked for, as old as dumps are, and none of the dead."""

from __future__ import annotations

from gputop.probes.derive.frame import derive
from gputop.probes.derive.stack_groups import merge
from gputop.probes.model.rank_readings import DUMPS
from gputop.probes.model.sample import Sample
from gputop.probes.simulator import SimulatedNode
from gputop.probes.simulator.feed import DemoFeed
from gputop.probes.wire.command import TakeStacks

START = 1_790_000_000.0


def sample(scenario: str, elapsed: float, asked: float) -> Sample:
    node = SimulatedNode(scenario, start_time_seconds=START)
    return node.with_stacks(node.sample_at(elapsed), elapsed, asked)


def test_dumps_come_every_other_second() -> None:
    taken = [sample("healthy", second, 0.0).stacks[0] for second in (0.0, 1.0, 2.0, 7.5)]
    assert [each.taken for each in taken] == [1, 1, 2, 4]
    assert [len(each.main_stacks) for each in taken] == [1, 1, 2, DUMPS]
    ages = [7.5 - (each.monotonic_seconds - taken[0].monotonic_seconds) for each in taken]
    assert [round(age, 3) for age in ages] == [7.5, 7.5, 5.5, 1.5]


def test_a_moment_always_has_the_same_stacks() -> None:
    assert sample("input-bound", 3.0, 0.0) == sample("input-bound", 3.0, 0.0)


def test_the_lost_gpu_holds_its_rank_in_backward() -> None:
    frame = derive(None, sample("gpu-lost", 0.0, -9.0))
    odd, most = merge(frame.jobs[0], frame)
    assert (odd.ranks, odd.phase, odd.place) == ((3,), "backward", "train_step (train.py:119)")
    assert (len(most.ranks), most.phase) == (7, "comm")


def test_all_ranks_of_the_input_bound_job_are_seen_at_their_loader() -> None:
    places = set[str | None]()
    for tenth in range(0, 60, 4):
        frame = derive(None, sample("input-bound", tenth / 10, tenth / 10))
        places |= {group.place for group in merge(frame.jobs[0], frame)}
    assert "batches (data.py:88)" in places


def test_a_dead_rank_has_none() -> None:
    pids = {each.pid for each in sample("rank-exited", 0.0, -9.0).stacks}
    assert len(pids) == 7 and 51835 not in pids


def test_the_demo_has_stacks_while_they_are_asked_for() -> None:
    feed = DemoFeed("gpu-lost", interval_seconds=0.2)
    messages = feed.messages()
    past = [next(messages) for _ in range(feed.past_samples + 1)]
    assert not any(isinstance(each, Sample) and each.stacks for each in past)
    feed.send(TakeStacks(command_id=1, pids=(51833,), seconds=60.0))
    there = next(messages)
    assert isinstance(there, Sample) and len(there.stacks) == 8
    feed.send(TakeStacks(command_id=2, pids=(51833,), seconds=0.0))
    gone = [next(messages) for _ in range(2)][-1]
    assert isinstance(gone, Sample) and gone.stacks == ()
    feed.close()
