"""Jobs that nobody prepared: what else is reported of them beside the fault."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.job_scenarios import play
from support.real_jobs import diagnose, found, job
from support.torch_python import needs_torch

pytestmark = [needs_torch, pytest.mark.slow]


def test_a_healthy_job_is_reported_so(tmp_path: Path) -> None:
    outcome = play("healthy", tmp_path)
    assert (outcome.code, outcome.found) == (0, {})
    assert [rank["rank"] for rank in outcome.ranks] == [0, 1]
    assert outcome.report["job"]["working_directory"] == str(Path.cwd())


def test_a_job_that_compiles_is_no_stall(tmp_path: Path) -> None:
    outcome = play("compiling", tmp_path)
    # The first compilation imports the compiler.
    assert {rank["phase"] for rank in outcome.ranks} <= {"compile", "startup"}


@pytest.mark.parametrize(
    ("fault", "rule"),
    [("mismatch", "RUN404"), ("sleeping_data_set", "RUN406"), ("dead_loader", "HST115")],
)
def test_the_odd_one_of_four(fault: str, rule: str, tmp_path: Path) -> None:
    with job(fault, tmp_path, ranks=4, FAULTY_RANK="2") as running:
        _, report = diagnose(running.ranks[0])
    assert found(report) == {rule: 2}
    assert report["groups"][0]["rank_numbers"] == [2]
    assert report["groups"][-1]["rank_numbers"] == [0, 1, 3]


def test_an_error_once_the_others_have_waited_for_a_minute(tmp_path: Path) -> None:
    with job("sleeping_data_set", tmp_path) as running:
        _, report = diagnose(running.launcher, seconds=72.0)
    (finding,) = [each for each in report["findings"] if each["id"] == "RUN406"]
    assert (finding["severity"], finding["subject"]["rank"]) == ("error", 1)


def test_the_whole_job_from_a_worker_of_a_loader(tmp_path: Path) -> None:
    with job("dead_loader", tmp_path) as running:
        rank = running.ranks[0]
        worker = Path(f"/proc/{rank}/task/{rank}/children").read_text().split()[0]
        _, report = diagnose(int(worker))
    assert found(report) == {"HST115": 1}
    assert [each["pid"] for each in report["job"]["ranks"]] == running.ranks


def test_stacks_as_text(tmp_path: Path) -> None:
    with job("sleeping_data_set", tmp_path) as running:
        command = [sys.executable, "-m", "gputop", "stacks", str(running.ranks[0])]
        began = time.monotonic()
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "rank 1: data, loads data in the main process at Pictures.__getitem__" in ended.stdout
    assert "rank 0: backward" in ended.stdout
    assert time.monotonic() - began < 60
