"""A rank's number, reported by its environment: from inside and from outside it must be the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gputop.probes.inprocess import layout
from gputop.probes.inprocess.rank_variables import RANK_NAMES, ranks_in
from gputop.probes.jobs.rank_identity import Identity, identity_of
from gputop.probes.model.process_readings import ProcessReading
from gputop.probes.sources.procfs.environment import parse_environment

from support.probe_job import Job, job

SRUN = {"SLURM_PROCID": "5", "SLURM_LOCALID": "1", "SLURM_NTASKS": "6"}
PMIX = {"PMIX_RANK": "4"}
MPIRUN = {
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_LOCAL_RANK": "3",
    "OMPI_COMM_WORLD_SIZE": "4",
    "PMIX_RANK": "3",
}
CASES = {
    "torchrun": ({"RANK": "7", "LOCAL_RANK": "3", "WORLD_SIZE": "8"}, (7, 3, 8)),
    "torchrun under srun": (SRUN | {"RANK": "7", "LOCAL_RANK": "3", "WORLD_SIZE": "8"}, (7, 3, 8)),
    "mpirun within a Slurm job": (SRUN | MPIRUN, (3, 3, 4)),
    "Hydra": ({"PMI_RANK": "2", "MPI_LOCALRANKID": "0", "PMI_SIZE": "3"}, (2, 0, 3)),
    "srun with PMIx": (SRUN | PMIX, (4, 1, 6)),
    "srun": (SRUN, (5, 1, 6)),
    "Lightning": ({"LOCAL_RANK": "1", "NODE_RANK": "0", "WORLD_SIZE": "2"}, (1, 1, 2)),
    "Lightning on a later node": ({"LOCAL_RANK": "1", "NODE_RANK": "2"}, (None, 1, None)),
    "Horovod": (
        {"HOROVOD_RANK": "5", "HOROVOD_LOCAL_RANK": "1", "HOROVOD_SIZE": "8"},
        (5, 1, 8),
    ),
    "horovodrun by mpirun": (
        {"HOROVOD_RANK": "1", "HOROVOD_LOCAL_RANK": "1", "HOROVOD_SIZE": "2"} | MPIRUN,
        (1, 1, 2),
    ),
    "MVAPICH2": (
        {
            "MV2_COMM_WORLD_RANK": "2",
            "MV2_COMM_WORLD_LOCAL_RANK": "0",
            "MV2_COMM_WORLD_SIZE": "4",
        },
        (2, 0, 4),
    ),
    "jsrun": (
        {"JSM_NAMESPACE_RANK": "6", "JSM_NAMESPACE_LOCAL_RANK": "0", "JSM_NAMESPACE_SIZE": "12"},
        (6, 0, 12),
    ),
    "flux": (
        {"FLUX_TASK_RANK": "3", "FLUX_TASK_LOCAL_ID": "1", "FLUX_JOB_SIZE": "4"},
        (3, 1, 4),
    ),
    "PALS": ({"PALS_RANKID": "9", "PALS_LOCAL_RANKID": "1"}, (9, 1, None)),
    "PALS with PMI": (
        {"PALS_RANKID": "9", "PALS_LOCAL_RANKID": "1", "PMI_RANK": "9", "PMI_SIZE": "16"},
        (9, 1, 16),
    ),
    "RANK alone, and how many by Slurm": (SRUN | {"RANK": "5"}, (5, 1, 6)),
    "RANK alone, and how many by PMI": (
        {"RANK": "1", "MASTER_ADDR": "n", "PMI_RANK": "1", "PMI_SIZE": "2"},
        (1, None, 2),
    ),
    "RANK by hand, not one of Slurm's": (
        SRUN | {"RANK": "11", "MASTER_ADDR": "n"},
        (11, None, None),
    ),
    "RANK where ranks meet": (
        {"RANK": "3", "MASTER_ADDR": "n", "MASTER_PORT": "1"},
        (3, None, None),
    ),
    "no rank of so few": ({"RANK": "8", "LOCAL_RANK": "0", "WORLD_SIZE": "8"}, (None, 0, 8)),
    "anybody's variable": ({"RANK": "3"}, (None, None, None)),
    "no numbers": ({"RANK": "x", "LOCAL_RANK": "-1", "WORLD_SIZE": "99999999"}, (None, None, None)),
}
NAMES = {*RANK_NAMES, *(name for variables, _ in CASES.values() for name in variables)}


@pytest.fixture(autouse=True)
def no_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


def reported_inside(running: Job) -> tuple[object, ...]:
    """What the probe has put into the page."""
    (page,) = running.pages()
    content = page.read_bytes()
    at, size = layout.FACTS_AT, layout.FACTS_SIZE
    found = layout.newest(content[at : at + size], content[at + size : at + 2 * size])
    assert found
    facts = json.loads(found[1])
    return facts.get("rank"), facts.get("local_rank"), facts.get("world_size")


def reported_outside(pid: int) -> tuple[object, ...]:
    """What the monitor makes of the process."""
    environment = parse_environment(Path(f"/proc/{pid}/environ").read_bytes())
    process = ProcessReading(
        monotonic_seconds=0, pid=pid, start_time_seconds=0, environment=environment
    )
    found = identity_of(process)
    return (found or Identity(None))[:3]


@pytest.mark.parametrize("case", CASES)
def test_both_sides_say_the_same_of_a_running_process(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables, expected = CASES[case]
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with job("say('in'); time.sleep(60)") as running:
        assert running.line() == "in"
        assert reported_inside(running) == reported_outside(running.pid) == expected


def test_a_local_rank_on_the_command_line_counts_where_no_variable_tells() -> None:
    found = ranks_in({"WORLD_SIZE": "2", "NODE_RANK": "0"}, local_rank=1)
    assert found
    assert (found.rank, found.local_rank, found.world_size) == (1, 1, 2)
    found = ranks_in({"LOCAL_RANK": "0"}, local_rank=1)
    assert found
    assert found.local_rank == 0
