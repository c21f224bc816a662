"""Processes sorted into jobs, ranks and workers."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.jobs.grouping import Grouping, group_jobs
from gputop.probes.model.job_frames import JobFrame
from gputop.probes.model.process_readings import ProcessReading

from support.grouping_gpus import names, torchrun
from support.grouping_parts import gpus, process


def roles(grouping: Grouping) -> dict[int, str]:
    return {pid: member.role for pid, member in grouping.members.items()}


def only(grouping: Grouping) -> JobFrame:
    (job,) = grouping.jobs
    return job


def test_torchrun_with_loader_workers() -> None:
    grouping = group_jobs(torchrun(100), gpus([101], [102]))
    job = only(grouping)
    assert (job.name, job.user, job.world_size, job.launcher_pid) == ("train.py", "alice", 2, 100)
    assert job.id == "pid-100-100.00"
    assert job.pids == (100, 101, 102, 111, 112, 121, 122)
    ranks = [(r.rank, r.local_rank, r.pid, r.gpu_index, r.gpu_uuid, r.workers) for r in job.ranks]
    assert ranks == [(0, 0, 101, 0, "GPU-0", (111, 112)), (1, 1, 102, 1, "GPU-1", (121, 122))]
    assert roles(grouping)[100] == "launcher"
    worker = grouping.members[121]
    assert (worker.role, worker.rank, worker.rank_pid) == ("worker", 1, 102)
    assert grouping.members[102].rank_pid is None
    assert grouping.local_pids == {}


def test_ranks_that_are_on_no_gpu_yet() -> None:
    job = only(group_jobs(torchrun(100), []))
    assert [rank.rank for rank in job.ranks] == [0, 1]
    assert job.ranks[0].gpu_index is None
    assert "no GPU" in job.ranks[0].missing["gpu_index"]


def test_ranks_whose_variables_are_not_shown_have_no_number() -> None:
    why = "belongs to user ida: run gputop as that user or root"
    hidden: dict[str, Any] = {"missing": {"environment": why}}
    helper = ("python", "-c", "from multiprocessing.resource_tracker import main;main(3)")
    processes = [
        process(100, 1, "torchrun train.py", **hidden),
        process(101, 100, **hidden),
        process(102, 100, **hidden),
        process(103, 100, helper, **hidden),
        process(111, 101, **hidden),
    ]
    job = only(group_jobs(processes, []))
    assert [(rank.rank, rank.pid, rank.workers) for rank in job.ranks] == [
        (None, 101, (111,)),
        (None, 102, ()),
    ]
    assert job.ranks[0].missing["rank"] == why
    processes[0] = process(100, 1, "bash run.sh", **hidden)
    assert group_jobs(processes, []).jobs == ()


def test_a_worker_whose_environment_was_not_repeated() -> None:
    processes = torchrun(100)
    processes += [process(131, 111, environment_inherited=True), process(132, 1, "sleep 1")]
    grouping = group_jobs(processes, [])
    assert roles(grouping)[131] == "worker"
    assert roles(grouping)[132] == "other"


def test_two_launchers_of_one_user_stay_apart() -> None:
    shell = process(50, 1, "-bash")
    both = [shell, *torchrun(100, 50), *torchrun(200, 50, port=29501)]
    grouping = group_jobs(both, gpus([101], [102], [201], [202]))
    assert [job.launcher_pid for job in grouping.jobs] == [100, 200]
    assert roles(grouping)[50] == "other"
    assert {grouping.members[pid].job_id for pid in (201, 211)} == {grouping.jobs[1].id}


def test_two_launchers_in_one_slurm_step_stay_apart() -> None:
    step = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}
    processes: list[ProcessReading] = []
    for base, port in ((100, 1), (200, 2)):
        processes.append(process(base, 1, "torchrun train.py", step))
        processes += [
            process(base + 1 + rank, base, environment=names(rank, port=port) | step)
            for rank in range(2)
        ]
    grouping = group_jobs(processes, [])
    assert [job.id for job in grouping.jobs] == ["slurm-77.0", "slurm-77.0-201"]
    assert {job.slurm_job_id for job in grouping.jobs} == {"77"}
    assert roles(grouping) == {100: "launcher", 200: "launcher"} | dict.fromkeys(
        (101, 102, 201, 202), "rank"
    )


def test_two_simulated_nodes_are_one_job() -> None:
    processes: list[ProcessReading] = []
    for node, base in enumerate((100, 200)):
        processes.append(process(base, 1, "torchrun --node-rank 0 train.py"))
        processes += [
            process(base + 1 + rank, base, environment=names(2 * node + rank, size=4))
            for rank in range(2)
        ]
    job = only(group_jobs(processes, []))
    assert [rank.rank for rank in job.ranks] == [0, 1, 2, 3]
    assert job.pids == (100, 101, 102, 200, 201, 202)


def test_same_address_in_two_containers_is_two_jobs() -> None:
    one = [process(101, 1, environment=names(0), container_id="a")]
    two = [process(201, 1, environment=names(1), container_id="b")]
    assert len(group_jobs(one + two, []).jobs) == 2


def test_srun_tasks_are_one_job_with_their_wrappers() -> None:
    processes: list[ProcessReading] = []
    for task in range(2):
        step = {
            "SLURM_JOB_ID": "9",
            "SLURM_STEP_ID": "3",
            "SLURM_PROCID": str(task),
            "SLURM_LOCALID": str(task),
            "SLURM_NTASKS": "2",
        }
        base = 100 + 10 * task
        processes += [
            process(base, 1, "bash run.sh", step),
            process(base + 1, base, environment=step),
            process(base + 2, base + 1, environment=step),
        ]
    grouping = group_jobs(processes, gpus([101], [111]))
    job = only(grouping)
    assert (job.id, job.slurm_job_id, job.world_size, job.launcher_pid) == (
        "slurm-9.3",
        "9",
        2,
        None,
    )
    assert [(rank.rank, rank.pid, rank.workers) for rank in job.ranks] == [
        (0, 101, (102,)),
        (1, 111, (112,)),
    ]
    assert roles(grouping)[100] == roles(grouping)[110] == "launcher"


def test_a_python_wrapper_under_srun_is_no_rank_once_its_child_is_on_a_gpu() -> None:
    step = {"SLURM_JOB_ID": "9", "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}
    processes = [
        process(100, 1, "python wrap.py", step),
        process(101, 100, environment=step),
        process(102, 101, environment=step),
    ]
    grouping = group_jobs(processes, gpus([101]))
    assert roles(grouping) == {100: "launcher", 101: "rank", 102: "worker"}


def test_mpirun() -> None:
    def rank(number: int) -> dict[str, str]:
        return {
            "OMPI_COMM_WORLD_RANK": str(number),
            "OMPI_COMM_WORLD_LOCAL_RANK": str(number),
            "OMPI_COMM_WORLD_SIZE": "2",
        }

    processes = [
        process(100, 1, "mpirun -np 2 python train.py"),
        process(101, 100, "orted"),
        process(102, 101, environment=rank(0)),
        process(103, 101, "bash -c x", rank(1)),
        process(104, 103, environment=rank(1)),
    ]
    grouping = group_jobs(processes, [])
    assert [(rank.rank, rank.pid) for rank in only(grouping).ranks] == [(0, 102), (1, 104)]
    assert only(grouping).launcher_pid == 100
    assert roles(grouping)[101] == roles(grouping)[103] == "launcher"


def test_hydra() -> None:
    processes = [
        process(100, 1, "mpiexec.hydra -n 1 python t.py"),
        process(101, 100, environment={"PMI_RANK": "3", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1"}),
    ]
    (rank,) = only(group_jobs(processes, [])).ranks
    assert (rank.rank, rank.local_rank) == (3, 1)


def test_deepspeed_without_a_readable_environment_tells_local_ranks() -> None:
    hidden = {"environment": "belongs to user bob"}
    processes = [process(100, 1, "python -m deepspeed.launcher.launch t.py")]
    processes += [
        process(101 + rank, 100, f"python t.py --local_rank={rank}", missing=hidden)
        for rank in range(2)
    ]
    processes.append(process(111, 101, "python t.py --local_rank=0", missing=hidden))
    job = only(group_jobs(processes, gpus([101], [102])))
    assert [(rank.rank, rank.local_rank, rank.gpu_index) for rank in job.ranks] == [
        (None, 0, 0),
        (None, 1, 1),
    ]
    assert job.ranks[0].missing["rank"] == "belongs to user bob"
    assert job.ranks[0].workers == (111,)


def test_a_single_process_is_a_job_of_one_rank() -> None:
    processes = [
        process(50, 1, "-bash"),
        process(100, 50),
        process(101, 100),
        process(200, 50, "python -m pkg.other"),
    ]
    grouping = group_jobs(processes, gpus([100], [200]))
    assert [(job.name, job.world_size, job.ranks[0].rank) for job in grouping.jobs] == [
        ("train.py", 1, 0),
        ("pkg.other", 1, 0),
    ]
    assert roles(grouping) == {50: "other", 100: "rank", 101: "worker", 200: "rank"}


def test_a_shell_with_a_script_belongs_to_the_job_it_started() -> None:
    grouping = group_jobs([process(50, 1, "bash run.sh"), process(100, 50)], gpus([100]))
    assert roles(grouping)[50] == "launcher"
    assert only(grouping).pids == (50, 100)


def test_ranks_started_by_hand_from_one_shell() -> None:
    processes = [process(50, 1, "bash run.sh")]
    processes += [process(100 + rank, 50, environment=names(rank)) for rank in range(2)]
    job = only(group_jobs(processes, []))
    assert (len(job.ranks), job.launcher_pid) == (2, 50)


@pytest.mark.parametrize("shell", ["-bash", "bash", "bash -i", "bash /dev/fd/3"])
def test_a_shell_at_which_somebody_sits_is_no_part_of_the_job(shell: str) -> None:
    processes = [process(50, 1, shell), process(60, 50, "bash run.sh")]
    processes += [process(100 + rank, 50, environment=names(rank)) for rank in range(2)]
    processes += [process(200, 60, environment=names(0))]
    grouping = group_jobs(processes, [])
    assert roles(grouping)[50] == "other"
    assert roles(grouping)[60] == "launcher"
    assert [len(job.ranks) for job in grouping.jobs] == [2, 1]
    assert not any(50 in job.pids for job in grouping.jobs)


def test_two_runs_started_by_hand_with_the_same_names_stay_apart() -> None:
    processes = [process(50, 1, "-bash")]
    processes += [process(100 + run, 50, environment=names(0)) for run in range(2)]
    assert len(group_jobs(processes, []).jobs) == 2


def test_multiprocessing_spawn_makes_ranks_of_unknown_number() -> None:
    spawned = "python -c from_multiprocessing.spawn_import_spawn_main --multiprocessing-fork"
    processes = [process(100), process(101, 100, spawned), process(102, 100, spawned)]
    processes.append(process(111, 101, spawned))
    job = only(group_jobs(processes, gpus([101], [102])))
    assert (job.name, job.world_size) == ("train.py", None)
    assert [(rank.rank, rank.gpu_index, rank.workers) for rank in job.ranks] == [
        (None, 0, (111,)),
        (None, 1, ()),
    ]


@pytest.mark.parametrize("on_gpus", [False, True])
@pytest.mark.parametrize("asked", [(), (100,)])
def test_what_multiprocessing_started_is_a_rank_where_it_is_in_a_process_group(
    on_gpus: bool, asked: tuple[int, ...]
) -> None:
    spawned = "python -c from_multiprocessing.spawn_import_spawn_main --multiprocessing-fork"
    tracker = "python -c from_multiprocessing.resource_tracker_import_main;main(3)"
    processes = [process(100, attached=100 in asked), process(105, 100, tracker)]
    for rank in (101, 102):
        processes += [process(rank, 100, spawned, in_process_group=True)]
        processes += [process(rank + 10, rank, spawned)]
    job = only(group_jobs(processes, gpus([101], [102]) if on_gpus else []))
    assert [(rank.rank, rank.pid, rank.workers) for rank in job.ranks] == [
        (None, 101, (111,)),
        (None, 102, (112,)),
    ]
    assert (job.launcher_pid, job.world_size) == (100, None)
    assert job.pids == (100, 101, 102, 105, 111, 112)


def test_a_helper_of_a_rank_in_a_process_group_of_its_own_is_no_rank() -> None:
    spawned = "python -c from_multiprocessing.spawn_import_spawn_main --multiprocessing-fork"
    processes = torchrun(100, workers=0)
    processes += [process(111, 101, spawned, in_process_group=True, environment=names(0))]
    job = only(group_jobs(processes, []))
    assert [(rank.rank, rank.workers) for rank in job.ranks] == [(0, (111,)), (1, ())]


def test_lightning_starts_the_other_ranks_from_the_first() -> None:
    child = {"LOCAL_RANK": "1", "NODE_RANK": "0", "WORLD_SIZE": "2"}
    processes = [process(100), process(101, 100, environment=child), process(111, 100)]
    processes.append(process(112, 101, environment=child))
    grouping = group_jobs(processes, gpus([100], [101]))
    job = only(grouping)
    assert job.world_size == 2
    assert [(rank.rank, rank.pid, rank.workers) for rank in job.ranks] == [
        (0, 100, (111,)),
        (1, 101, (112,)),
    ]


def test_a_parent_that_is_younger_is_another_process_of_that_pid() -> None:
    processes = [process(100, environment=names(0), start_time_seconds=500.0)]
    processes.append(process(101, 100, environment=names(0), start_time_seconds=400.0))
    grouping = group_jobs(processes, gpus([100], [101]))
    assert roles(grouping) == {100: "rank", 101: "rank"}


def test_a_lone_rank_variable_is_anybodys() -> None:
    assert group_jobs([process(100, environment={"RANK": "3"})], []).jobs == ()


def test_a_loop_of_parents() -> None:
    pair = [process(100, 101, start_time_seconds=1.0), process(101, 100, start_time_seconds=1.0)]
    assert len(group_jobs(pair, gpus([100])).jobs) == 1
