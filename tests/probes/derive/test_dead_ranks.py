"""Ranks that died: what they were in, and how long ago, in the job that they belonged to."""

from __future__ import annotations

import msgspec

from gputop.probes.model.probe_readings import ProbeReading
from gputop.probes.model.process_readings import ProcessReading
from gputop.probes.simulator import SimulatedNode

from support.probe_scenes import fold, gpu, probe, process, rank_of, sample, segments


def left(ended: float) -> ProbeReading:
    return probe(
        ended,
        101,
        phase="backward",
        phase_monotonic_seconds=ended - 2.0,
        step=811,
        step_monotonic_seconds=ended - 3.0,
        segments=segments(("backward", ended - 2.0, 812)),
        ended_monotonic_seconds=ended,
        rank=1,
        world_size=2,
        job_name="train.py",
        device_uuid="GPU-1",
    )


def survivor(moment: float) -> list[ProcessReading]:
    return [process(moment, 100)]


def test_it_stays_in_its_job_with_its_gpu_and_ages() -> None:
    both = (probe(10.0, 100), probe(10.0, 101))
    gpus = (gpu(10.0, 0, 100), gpu(10.0, 1, 101))
    alone = (gpu(51.0, 0, 100), gpu(51.0, 1))
    frame = fold(
        sample(10.0, both, gpus=gpus),
        sample(51.0, [probe(51.0, 100), left(10.0)], gpus=alone, processes=survivor(51.0)),
        sample(52.0, [probe(52.0, 100), left(10.0)], gpus=alone, processes=survivor(52.0)),
    )
    (job,) = frame.jobs
    dead = rank_of(frame, 1)
    assert [rank.rank for rank in job.ranks] == [0, 1]
    assert [rank.rank for rank in job.living] == [0]
    assert dead.ended_age_seconds == 42.0
    assert (dead.phase, dead.phase_age_seconds, dead.current_step) == ("backward", 2.0, 812)
    assert dead.step_age_seconds == 3.0
    assert dead.gpu_index == 1
    assert frame.gpus[1].rank is None, "nobody is on it any more"


def test_the_job_keeps_it_when_the_first_rank_is_the_one_that_dies() -> None:
    both = (probe(10.0, 100), probe(10.0, 101))
    dead = probe(10.5, 100, ended_monotonic_seconds=10.5)
    frame = fold(
        sample(10.0, both),
        sample(11.0, [dead, probe(11.0, 101)], [process(11.0, 101)]),
        sample(12.0, [dead, probe(12.0, 101)], [process(12.0, 101)]),
    )
    (job,) = frame.jobs
    assert [rank.rank for rank in job.ranks] == [0, 1]
    assert rank_of(frame, 0).ended_age_seconds == 1.5


def test_a_monitor_that_comes_later_puts_it_into_the_job_that_lacks_it() -> None:
    frame = fold(
        sample(
            51.0,
            [probe(51.0, 100), left(10.0)],
            processes=survivor(51.0),
            gpus=(gpu(51.0, 0, 100), gpu(51.0, 1)),
        )
    )
    assert [rank.rank for job in frame.jobs for rank in job.ranks] == [0, 1]
    assert len(frame.jobs) == 1
    assert rank_of(frame, 1).gpu_index == 1


def test_the_dead_of_before_a_restart_are_none_of_the_job_that_came_after() -> None:
    """Of a job on two nodes one rank is here; the pages are of two runs before it."""

    def of_a_run(pid: int, rank: int, began: float, ended: float) -> ProbeReading:
        page = probe(ended, pid, rank=rank, world_size=2, job_name="train.py")
        return msgspec.structs.replace(
            page, start_time_seconds=began, ended_monotonic_seconds=ended
        )

    began = probe(51.0).start_time_seconds
    first = of_a_run(200, 0, began - 80.0, began - 60.0)
    second = of_a_run(201, 1, began - 40.0, began - 20.0)
    frame = fold(sample(51.0, [probe(51.0, 100), first, second], processes=survivor(51.0)))
    reported = sorted([rank.pid for rank in job.ranks] for job in frame.jobs)
    assert reported == [[100], [200], [201]], "nor did those two live at the same time"


def test_a_job_of_which_nobody_lives_is_still_reported() -> None:
    frame = fold(sample(51.0, [left(10.0)], processes=[]))
    (job,) = frame.jobs
    assert (job.name, job.world_size, job.living) == ("train.py", 2, ())
    again = fold(sample(51.0, [left(10.0)], processes=[]), sample(52.0, [left(10.0)], processes=[]))
    assert [each.id for each in again.jobs] == [job.id]
    assert rank_of(again, 1).ended_age_seconds == 42.0


def test_ranks_of_one_dead_job_are_together() -> None:
    other = probe(9.0, 100, ended_monotonic_seconds=9.0, rank=0, world_size=2, job_name="train.py")
    frame = fold(sample(51.0, [other, left(10.0)], processes=[]))
    (job,) = frame.jobs
    assert [rank.rank for rank in job.ranks] == [0, 1]


def test_the_simulated_one_is_waited_for() -> None:
    node = SimulatedNode("rank-exited", start_time_seconds=1.79e9)
    frame = fold(*[node.sample_at(2.0 * at - 120.0) for at in range(61)])
    dead = rank_of(frame, 5)
    assert dead.phase == "backward" and dead.ended_age_seconds is not None
    assert 50 < dead.ended_age_seconds < 60
    assert all(rank.waits_for == (5,) for rank in frame.jobs[0].living)


def test_only_the_living_are_there_to_be_judged() -> None:
    mixed = fold(
        sample(51.0, [probe(51.0, 100), left(10.0)], processes=survivor(51.0)),
    )
    assert [[rank.rank for rank in job.ranks] for job in mixed.running] == [[0]]
    assert fold(sample(51.0, [left(10.0)], processes=[])).running == ()
    whole = fold(sample(10.0, (probe(10.0, 100), probe(10.0, 101))))
    assert whole.running == whole.jobs
