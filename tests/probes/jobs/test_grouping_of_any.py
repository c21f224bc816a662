"""Any processes make sound jobs, whatever they say of themselves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.jobs.grouping import group_jobs
from gputop.probes.model.process_readings import ProcessReading

from support.grouping_parts import gpus, process

VALUES = st.sampled_from(["0", "1", "2", "", "x", "-1", "99999999999"])


NAMES = st.sampled_from(
    [
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "SLURM_PROCID",
        "SLURM_NTASKS",
        "SLURM_JOB_ID",
        "MASTER_ADDR",
        "MASTER_PORT",
        "NODE_RANK",
        "CUDA_VISIBLE_DEVICES",
        "PMI_RANK",
        "PMI_SIZE",
    ]
)


COMMANDS = st.sampled_from(
    ["python t.py", "torchrun t.py", "bash run.sh", "-bash", "", "python -c multiprocessing x"]
)


PROCESSES = st.lists(
    st.builds(
        process,
        pid=st.integers(2, 12),
        parent=st.integers(0, 12),
        command=COMMANDS,
        environment=st.dictionaries(NAMES, VALUES, max_size=6),
        start_time_seconds=st.floats(0, 5),
        environment_inherited=st.booleans(),
    ),
    max_size=10,
    unique_by=lambda made: made.pid,
)


@given(PROCESSES, st.lists(st.lists(st.integers(2, 14), max_size=3), max_size=3))
def test_any_processes_make_sound_jobs(
    processes: list[ProcessReading], on: list[list[int]]
) -> None:
    grouping = group_jobs(processes, gpus(*on))
    assert set(grouping.members) == {made.pid for made in processes}
    ids = [job.id for job in grouping.jobs]
    assert len(set(ids)) == len(ids)
    ranks = [rank.pid for job in grouping.jobs for rank in job.ranks]
    assert sorted(ranks) == sorted(
        pid for pid, member in grouping.members.items() if member.role == "rank"
    )
    for job in grouping.jobs:
        assert job.ranks
        assert {rank.pid for rank in job.ranks} <= set(job.pids)
    for member in grouping.members.values():
        assert (member.rank_pid is not None) == (member.role == "worker")


@given(PROCESSES, st.randoms())
@pytest.mark.unmeasured
def test_the_order_of_processes_does_not_matter(
    processes: list[ProcessReading], random: Any
) -> None:
    shuffled = list(processes)
    random.shuffle(shuffled)
    assert group_jobs(processes, []).jobs == group_jobs(shuffled, []).jobs


@pytest.mark.parametrize("count", [0, 1])
def test_nothing(count: int) -> None:
    assert group_jobs([process(100)] * count, []).jobs == ()
