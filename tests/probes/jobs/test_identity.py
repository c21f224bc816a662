"""Who is which rank, where titles, inherited variables and launchers without names make it hard to tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from gputop.probes.jobs.grouping import group_jobs
from gputop.probes.model.gpu_readings import GpuProcessReading, GpuReading
from gputop.probes.model.job_frames import JobFrame
from gputop.probes.model.probe_readings import ProbeReading
from gputop.probes.model.process_readings import ProcessReading

SPAWNED = (
    "python",
    "-c",
    "from multiprocessing.spawn import spawn_main; spawn_main(3)",
    "--multiprocessing-fork",
)
WIPED = {"environment": "a title was written over its environment"}


def process(
    pid: int,
    parent: int = 1,
    command: Sequence[str] | str = "python train.py",
    environment: Mapping[str, str] | None = None,
    **more: Any,
) -> ProcessReading:
    words = tuple(command.split()) if isinstance(command, str) else tuple(command)
    given: dict[str, Any] = {"start_time_seconds": float(pid), "user": "alice", **more}
    return ProcessReading(
        monotonic_seconds=1.0,
        pid=pid,
        parent_pid=parent,
        command=words,
        environment=dict(environment or {}),
        **given,
    )


def titled(pid: int, parent: int, title: str, **more: Any) -> ProcessReading:
    """As setproctitle leaves it."""
    return process(pid, parent, (title,), titled=True, missing=WIPED, **more)


def env(rank: int, size: int = 2, **more: str) -> dict[str, str]:
    meeting = {"MASTER_ADDR": "node", "MASTER_PORT": "29500"}
    return {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size), **meeting, **more}


def gpus(*pids: int) -> list[GpuReading]:
    """A GPU for each."""
    return [
        GpuReading(monotonic_seconds=1.0, index=at, processes=(GpuProcessReading(pid=pid),))
        for at, pid in enumerate(pids)
    ]


def probe(pid: int, rank: int | None, size: int | None, **more: Any) -> ProbeReading:
    return ProbeReading(
        monotonic_seconds=1.0,
        pid=pid,
        start_time_seconds=float(pid),
        rank=rank,
        world_size=size,
        **more,
    )


def numbers(job: JobFrame) -> list[tuple[int, int | None]]:
    return [(rank.pid, rank.rank) for rank in job.ranks]


def test_actors_of_ray_are_one_job_of_ranks_without_numbers() -> None:
    processes = [
        process(10, 1, "/opt/ray/core/src/ray/raylet/raylet --node_ip_address=1"),
        process(11, 10, "python -u /opt/ray/dashboard/agent.py"),
        titled(12, 10, "ray::IDLE"),
        titled(20, 10, "ray::RayTrainWorker._RayTrainWorker__execute", ray_job="01000000"),
        titled(21, 10, "ray::RayTrainWorker", ray_job="01000000"),
    ]
    (job,) = group_jobs(processes, gpus(20, 21)).jobs
    assert (job.id, job.name, job.world_size) == ("ray-01000000", "ray::RayTrainWorker", None)
    assert numbers(job) == [(20, None), (21, None)]
    assert job.ranks[0].missing["rank"] == WIPED["environment"]
    processes.append(titled(22, 10, "ray::Other.train", ray_job="02000000"))
    jobs = group_jobs(processes, gpus(20, 21, 22)).jobs
    assert [len(job.ranks) for job in jobs] == [2, 1]


def test_ray_that_tells_no_job_is_one_job_and_no_rank_zero() -> None:
    processes = [process(10, 1, "raylet"), titled(20, 10, "ray::A.f"), titled(21, 10, "ray::B.g")]
    (job,) = group_jobs(processes, gpus(20, 21)).jobs
    assert numbers(job) == [(20, None), (21, None)]
    (job,) = group_jobs(processes, gpus(20)).jobs
    assert (numbers(job), job.world_size) == ([(20, None)], None)


def test_a_probe_in_an_actor_tells_its_rank() -> None:
    processes = [process(10, 1, "raylet"), titled(20, 10, "ray::A"), titled(21, 10, "ray::A")]
    (job,) = group_jobs(processes, gpus(20, 21), [probe(20, 1, 2), probe(21, 0, 2)]).jobs
    assert (numbers(job), job.world_size) == ([(21, 0), (20, 1)], 2)


@pytest.mark.parametrize(
    ("titles", "expected"),
    [
        (("VLLM::Worker_TP0", "VLLM::Worker_TP1"), [0, 1]),
        (("VLLM::Worker_TP1", "VLLM::Worker_TP0"), [1, 0]),
        (("sglang::scheduler_TP0", "sglang::scheduler_TP1"), [0, 1]),
        (
            (
                "VLLM::Worker_PP1_TP0",
                "VLLM::Worker_PP0_TP1",
                "VLLM::Worker_PP0_TP0",
                "VLLM::Worker_PP1_TP1",
            ),
            [2, 1, 0, 3],
        ),
        (("VLLM::Worker_DP0_TP0_EP0", "VLLM::Worker_DP1_TP0_EP1"), [0, 1]),
        # One stage of two is here: how many there are of each is not seen.
        (("VLLM::Worker_PP1_TP0", "VLLM::Worker_PP1_TP1"), [None, None]),
        (("VLLM::Worker_TP0", "VLLM::Worker_TP0"), [None, None]),
        (("VLLM::EngineCore", "VLLM::EngineCore"), [None, None]),
        (("myjob_TP0", "myjob_TP1"), [None, None]),
    ],
)
def test_workers_of_an_inference_server_by_their_titles(
    titles: Sequence[str], expected: Sequence[int | None]
) -> None:
    processes = [process(10, 1, "python /usr/bin/vllm serve m"), titled(11, 10, "VLLM::EngineCore")]
    processes += [titled(20 + at, 11, title) for at, title in enumerate(titles)]
    (job,) = group_jobs(processes, gpus(*range(20, 20 + len(titles)))).jobs
    assert dict(numbers(job)) == {20 + at: rank for at, rank in enumerate(expected)}
    assert (job.name, job.launcher_pid) == ("vllm", 10)


def test_a_lone_titled_process_is_no_rank_zero_of_one() -> None:
    (job,) = group_jobs([titled(20, 1, "trainer [run 7]")], gpus(20)).jobs
    assert (numbers(job), job.world_size, job.name) == ([(20, None)], None, "trainer")


def test_a_title_by_exec_leaves_the_environment() -> None:
    processes = [
        process(20 + rank, 1, ("ray::train", "train.py"), env(rank), titled=True)
        for rank in range(2)
    ]
    (job,) = group_jobs(processes, []).jobs
    assert (numbers(job), job.world_size) == ([(20, 0), (21, 1)], 2)


def test_titled_ranks_of_a_launcher_are_ranks_before_they_are_on_a_gpu() -> None:
    processes = [process(10, 1, "torchrun train.py")]
    processes += [titled(20, 10, "exp"), titled(21, 10, "exp")]
    processes += [titled(30, 20, "exp")]  # forked: its loader's
    (job,) = group_jobs(processes, []).jobs
    assert numbers(job) == [(20, None), (21, None)]
    assert job.ranks[0].workers == (30,)


@pytest.mark.parametrize("launcher", ["mpirun -n 1 python train.py", "srun python train.py"])
def test_one_rank_here_of_a_launcher_whose_names_are_unknown_is_not_rank_zero(
    launcher: str,
) -> None:
    (job,) = group_jobs([process(10, 1, launcher), process(20, 10)], gpus(20)).jobs
    assert (numbers(job), job.world_size) == ([(20, None)], None)
    assert job.ranks[0].missing["rank"] == "its environment names no rank"


def test_a_plain_program_is_rank_zero_of_one_until_it_is_in_a_process_group() -> None:
    (job,) = group_jobs([process(20)], gpus(20)).jobs
    assert (numbers(job), job.world_size) == ([(20, 0)], 1)
    (job,) = group_jobs([process(20, in_process_group=True)], gpus(20)).jobs
    assert (numbers(job), job.world_size) == ([(20, None)], None)


@pytest.mark.parametrize(
    ("command", "expected", "size"),
    [
        ("python train.py --rank 3 --world-size 8", 3, 8),
        ("python train.py --rank=3 --world_size=8", 3, 8),
        ("python lora.py --rank 64", 0, 1),  # of a matrix
        ("python train.py --rank 9 --world-size 8", 0, 1),
    ],
)
def test_ranks_on_the_command_line(command: str, expected: int, size: int) -> None:
    (job,) = group_jobs([process(20, 1, command)], gpus(20)).jobs
    assert (job.ranks[0].rank, job.world_size) == (expected, size)


def test_a_lone_rank_variable_counts_for_one_that_is_in_a_process_group() -> None:
    lone = process(20, environment={"RANK": "3"}, in_process_group=True)
    (job,) = group_jobs([lone], []).jobs
    assert (numbers(job), job.world_size) == ([(20, 3)], None)


def test_the_probe_has_the_word_over_what_the_environment_said_at_the_start() -> None:
    processes = [process(20, environment=env(0, 1)), process(21, environment=env(0, 1))]
    processes.append(process(30, 20, SPAWNED, env(0, 1)))  # its loader's, with a page of its own
    probes = [probe(20, 1, 2), probe(21, 0, 2), probe(30, 0, 1)]
    (job,) = group_jobs(processes, [], probes).jobs
    assert (numbers(job), job.world_size) == ([(21, 0), (20, 1)], 2)
    assert job.ranks[1].workers == (30,)


def test_a_probe_that_knows_its_number_alone_takes_nothing_from_what_the_environment_tells() -> (
    None
):
    processes = [process(20, environment=env(0, 32)), process(21, environment=env(1, 32))]
    (job,) = group_jobs(processes, [], [probe(20, 0, None), probe(21, 1, None)]).jobs
    assert (numbers(job), job.world_size) == ([(20, 0), (21, 1)], 32)
    assert [rank.local_rank for rank in job.ranks] == [0, 1]


def test_variables_set_after_the_start_are_seen_in_what_multiprocessing_started() -> None:
    processes = [process(20), process(30, 20, SPAWNED, env(1)), process(31, 20, SPAWNED, env(1))]
    (job,) = group_jobs(processes, gpus(20)).jobs
    assert (numbers(job), job.world_size) == ([(20, 1)], 2)
    assert job.ranks[0].workers == (30, 31)


def test_ranks_started_by_a_program_on_a_gpu_are_ranks() -> None:
    processes = [process(20, 1, "python start.py")]
    processes += [process(30 + rank, 20, "python train.py", env(rank)) for rank in range(2)]
    (job,) = group_jobs(processes, gpus(20)).jobs
    assert [(pid, rank) for pid, rank in numbers(job) if pid >= 30] == [(30, 0), (31, 1)]


@pytest.mark.parametrize("on_gpu", [False, True])
def test_a_helper_with_a_ranks_variables_is_no_second_rank(on_gpu: bool) -> None:
    processes = [process(20 + rank, 1, environment=env(rank)) for rank in range(2)]
    processes.append(process(40, 1, "python -m tensorboard.main", env(0)))
    grouping = group_jobs(processes, gpus(20, 21) if on_gpu else [])
    (job,) = grouping.jobs
    assert numbers(job) == [(20, 0), (21, 1)]
    assert grouping.members[40].role == "other"


def test_two_programs_of_one_shell_that_exported_a_rank() -> None:
    alone = {"RANK": "0", "WORLD_SIZE": "1"}
    processes = [process(10, 1, "bash run.sh", alone)]
    processes += [process(20, 10, environment=alone), process(21, 10, "python log.py", alone)]
    (job,) = group_jobs(processes, gpus(20)).jobs
    assert (numbers(job), job.world_size) == ([(20, 0)], 1)
    both = group_jobs(processes, gpus(20, 21)).jobs
    assert [numbers(job) for job in both] == [[(20, None)], [(21, None)]]
    assert "inherited" in both[0].ranks[0].missing["rank"]


@pytest.mark.parametrize("on_gpus", [False, True])
def test_ranks_that_multiprocessing_started_below_a_nodes_own_rank(on_gpus: bool) -> None:
    """As an operator of Kubernetes sets it: the rank in the environment is the node's."""
    node = env(1)
    processes = [process(10, environment=node)]
    processes += [process(20 + at, 10, SPAWNED, node, in_process_group=True) for at in range(2)]
    (job,) = group_jobs(processes, gpus(20, 21) if on_gpus else []).jobs
    assert numbers(job) == [(20, None), (21, None)]
    assert job.launcher_pid in (10, None)


def test_what_started_ranks_that_tell_their_own_numbers_is_no_rank_itself() -> None:
    alone = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "x", "MASTER_PORT": "1"}
    processes = [process(10, environment=alone)]
    processes += [process(20 + at, 10, SPAWNED, alone, in_process_group=True) for at in range(2)]
    probes = [probe(10, 0, 1), probe(20, 0, 2), probe(21, 1, 2)]
    (job,) = group_jobs(processes, [], probes).jobs
    assert (numbers(job), job.world_size) == ([(20, 0), (21, 1)], 2)
    assert job.launcher_pid == 10


def test_ranks_that_were_forked_and_are_in_a_process_group() -> None:
    processes = [process(10)]
    processes += [process(20 + at, 10, in_process_group=True) for at in range(2)]
    (job,) = group_jobs(processes, []).jobs
    assert (numbers(job), job.world_size, job.launcher_pid) == ([(20, None), (21, None)], None, 10)


@pytest.mark.parametrize(
    ("command", "name"), [(SPAWNED, "python"), (("python", "train.py"), "pt_data_worker")]
)
def test_a_loader_worker_whose_rank_is_gone_is_no_rank(command: Sequence[str], name: str) -> None:
    assert group_jobs([process(30, 1, command, env(0), name=name)], []).jobs == ()


def test_the_last_number_that_is_left_is_that_of_the_one_without() -> None:
    processes = [process(10, 1, "mpirun -n 3 python t.py")]
    processes += [process(20 + rank, 10, environment=env(rank, 3)) for rank in (0, 2)]
    processes.append(process(30, 10))
    (job,) = group_jobs(processes, gpus(20, 22, 30)).jobs
    assert dict(numbers(job)) == {20: 0, 22: 2, 30: 1}
    (job,) = group_jobs([each for each in processes if each.pid != 22], gpus(20, 30)).jobs
    assert dict(numbers(job)) == {20: 0, 30: None}
